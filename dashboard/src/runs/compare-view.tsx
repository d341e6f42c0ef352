// Two runs side by side, aligned at their starts: what differs, their lines over time on one axis, and both logs.

import { useMemo } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { ViewHead } from '../parts/view-head.js';
import { t } from '../texts/text.js';
import { diffOf } from './diff.js';
import { Differences } from './differences.js';
import { noteText } from './note-text.js';
import type { OpenRun } from './open-runs.js';
import { hrefOfRun, runAddress } from './run-address.js';
import { RunChart } from './run-chart.js';
import type { RunFacts } from './run-facts.js';
import { RunLog } from './run-log.js';
import { Notes, QueryLine, Reading, RunTitle } from './run-view.js';
import { useSelection } from './use-selection.js';

export function CompareView({ a, b }: { a: OpenRun; b: OpenRun }) {
  return (
    <div class="view-full run-view run-compare">
      <ViewHead title={<RunTitle name={t('runs.two')} />}>
        <a class="button" href={hrefOfRun(b.name, a.name)}>
          {t('runs.swap')}
        </a>
      </ViewHead>
      {a.facts && b.facts ? (
        <Both a={a} b={b} ofA={a.facts} ofB={b.facts} />
      ) : (
        [a, b].map((run) =>
          run.error !== undefined ? (
            <p key={run.name} class="run-note bad" role="alert">
              {t('runs.cannotOpen', { name: visible(run.name), reason: noteText(run.error) })}
            </p>
          ) : (
            <Reading key={run.name} run={run} />
          ),
        )
      )}
    </div>
  );
}

interface BothProps {
  a: OpenRun;
  b: OpenRun;
  ofA: RunFacts;
  ofB: RunFacts;
}

function Both({ a, b, ofA, ofB }: BothProps) {
  const { query, afterMs, beforeMs, atMs } = runAddress();
  const lengthMs = Math.max(ofA.recording?.lengthMs ?? 0, ofB.recording?.lengthMs ?? 0);
  const diff = useMemo(() => diffOf(ofA, ofB), [ofA, ofB]);
  const sides = [
    { mark: 'A', run: a, facts: ofA, selection: useSelection(a, query) },
    { mark: 'B', run: b, facts: ofB, selection: useSelection(b, query) },
  ];
  const recorded = sides.filter(({ facts }) => facts.recording);
  return (
    <div class="run-body">
      <div class="run-names">
        {sides.map(({ mark, run, facts }) => (
          <div key={mark}>
            <h2>
              <span class="run-letter">{mark}</span>
              <a href={hrefOfRun(run.name)}>{visible(run.name)}</a>
            </h2>
            <Notes facts={facts} />
          </div>
        ))}
      </div>
      <Differences diff={diff} names={{ a: a.name, b: b.name }} />
      {recorded.length === 0 ? null : (
        <QueryLine query={query} afterMs={afterMs} beforeMs={beforeMs} />
      )}
      <div class="run-charts">
        {recorded.map(({ mark, run, selection }) => (
          <div key={mark}>
            <span class="run-letter">{mark}</span>
            <RunChart run={run} selection={selection} lengthMs={lengthMs} atMs={atMs} />
          </div>
        ))}
      </div>
      <div class="run-pair">
        {recorded.map(({ mark, run, selection }) => (
          <section key={mark} class="run-side" aria-label={t('runs.logOf', { mark })}>
            <h2>
              <span class="run-letter">{mark}</span>
              {visible(run.name)}
            </h2>
            <RunLog
              {...{ run, selection, query, afterMs, beforeMs, atMs }}
              name={`run-line-${mark}`}
            />
          </section>
        ))}
      </div>
    </div>
  );
}
