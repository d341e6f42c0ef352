// The expectations of a run: what passed, what failed and why.

import { useState } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { hrefAt } from '../model/time-range.js';
import { Icon } from '../parts/icons.js';
import { LineText } from '../parts/text.js';
import { numberText, t } from '../texts/text.js';
import type { Result, RunExpectation } from './run-facts.js';
import { lengthText, sinceText } from './run-time.js';

/** Expectations that are drawn before somebody asks for all. */
const FIRST = 300;
export const RESULTS: readonly Result[] = ['failed', 'passed', 'skipped'];

interface Props {
  expectations: readonly RunExpectation[];
  /** When the run began, if it has a log: a time leads to it. */
  startedAtMs: number | undefined;
}

export function ExpectationsView({ expectations, startedAtMs }: Props) {
  const [only, setOnly] = useState<Result>();
  const [isAll, setAll] = useState(false);
  const fitting = expectations.filter(({ result }) => only === undefined || result === only);
  const sorted = [...fitting].sort((a, b) => RESULTS.indexOf(a.result) - RESULTS.indexOf(b.result));
  const shown = isAll ? sorted : sorted.slice(0, FIRST);
  return (
    <section class="run-part" aria-label={t('runs.expectations')}>
      <ul class="run-results" aria-label={t('runs.results')}>
        {RESULTS.map((result) => {
          const count = expectations.filter((one) => one.result === result).length;
          return (
            <li key={result}>
              <button
                type="button"
                class="chip"
                aria-pressed={only === result}
                onClick={() => setOnly(only === result ? undefined : result)}
              >
                <ResultMark result={result} /> {numberText(count)}
              </button>
            </li>
          );
        })}
      </ul>
      {expectations.length === 0 ? <p class="muted">{t('runs.noResults')}</p> : null}
      <ul class="run-expectations">
        {shown.map((one, at) => (
          <Expectation key={at} expectation={one} startedAtMs={startedAtMs} />
        ))}
      </ul>
      {shown.length < sorted.length ? (
        <button type="button" onClick={() => setAll(true)}>
          {t('runs.showAll', { n: sorted.length })}
        </button>
      ) : null}
    </section>
  );
}

function Expectation({
  expectation,
  startedAtMs,
}: {
  expectation: RunExpectation;
  startedAtMs: number | undefined;
}) {
  const { name, result, message, afterMs } = expectation;
  return (
    <li class={`run-expectation is-${result}`} data-result={result}>
      <ResultMark result={result} />
      <span class="run-expectation-name">
        {visible(name) || t('runs.noName')}
        {message === '' ? null : (
          <span class="run-expectation-message muted">
            <LineText text={message} isWhole />
          </span>
        )}
      </span>
      {afterMs === null ? null : startedAtMs !== undefined ? (
        <a
          class="run-moment"
          href={hrefAt('log', startedAtMs + afterMs)}
          title={t('incidents.openLog')}
        >
          {sinceText(afterMs)}
          <Icon name="right" />
        </a>
      ) : (
        <span class="muted">{lengthText(afterMs)}</span>
      )}
    </li>
  );
}

const MARKS = {
  passed: { name: 'runs.passed', tone: 'good', shape: '✓' },
  failed: { name: 'runs.failed', tone: 'bad', shape: '✗' },
  skipped: { name: 'runs.skipped', tone: 'off', shape: '–' },
  missing: { name: 'runs.reportMissing', tone: 'off', shape: '·' },
} as const;

/** By word, colour and shape. */
export function ResultMark({ result }: { result: Result | 'missing' }) {
  const { name, tone, shape } = MARKS[result];
  return (
    <span class={`run-result tone-${tone}`}>
      <span aria-hidden="true">{shape}</span> {t(name)}
    </span>
  );
}
