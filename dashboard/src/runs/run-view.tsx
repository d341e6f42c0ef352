// One run: its lines over time, its log, herd, incidents and expectations.

import type { VNode } from 'preact';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { Herd } from '../herd/herd.js';
import { recorded } from '../model/event-source.js';
import { useLogAddress } from '../model/log-address.js';
import { hrefTo, route } from '../model/route.js';
import { fullTime } from '../model/time.js';
import { timeRange } from '../model/time-range.js';
import { Icon } from '../parts/icons.js';
import { sizeText } from '../parts/size.js';
import { ViewHead } from '../parts/view-head.js';
import { ProblemsView } from '../problems/problems-view.js';
import { RangePicker } from '../range/range-picker.js';
import { numberText, type PlainKey, t } from '../texts/text.js';
import { LogPane } from '../views/log-pane.js';
import { ExpectationsView } from './expectations-view.js';
import { note } from './note.js';
import { noteText } from './note-text.js';
import type { OpenRun } from './open-runs.js';
import { PARTS, type RunPart, shownPart, showPart } from './run-address.js';
import type { RunFacts } from './run-facts.js';
import type { RunSource } from './run-source.js';
import { lengthText } from './run-time.js';
import { SearchState } from './search-state.js';

const TITLES: Readonly<Record<RunPart, PlainKey>> = {
  log: 'page.log',
  herd: 'herd.title',
  problems: 'page.problems',
  expectations: 'runs.expectations',
};

/** @param actions beside the title. */
export function RunView({ run, actions }: { run: OpenRun; actions: VNode }) {
  const { facts, error } = run;
  return (
    <div class="view-full run-view">
      <ViewHead
        title={<RunTitle name={run.name} />}
        note={facts ? <Summary facts={facts} /> : null}
      >
        {actions}
      </ViewHead>
      {error !== undefined ? (
        <p class="run-note bad" role="alert">
          {t('runs.cannotOpen', { name: visible(run.name), reason: noteText(error) })}
        </p>
      ) : facts ? (
        <Opened run={run} facts={facts} />
      ) : (
        <Reading run={run} />
      )}
    </div>
  );
}

function RunTitle({ name }: { name: string }) {
  return (
    <>
      <a class="back" href={hrefTo('runs')} aria-label={t('runs.all')}>
        <Icon name="left" />
      </a>
      {visible(name)}
    </>
  );
}

export function Reading({ run: { name, read, bytes } }: { run: OpenRun }) {
  return (
    <p class="run-note" role="status">
      {t('runs.reading', {
        name: visible(name),
        read: sizeText(read),
        bytes: sizeText(bytes),
      })}
      <progress max={bytes} value={read} aria-label={t('runs.readAs', { name })} />
    </p>
  );
}

function Summary({ facts: { recording, expectations } }: { facts: RunFacts }) {
  const failed = expectations?.filter(({ result }) => result === 'failed').length ?? 0;
  const parts = [
    ...(recording
      ? [
          fullTime(recording.startedAtMs),
          lengthText(recording.lengthMs),
          t('count.lines', { n: recording.rows }),
          t('count.bots', { n: recording.bots }),
        ]
      : []),
    ...(expectations ? [t('runs.failedOf', { n: failed, all: expectations.length })] : []),
  ];
  return <>{parts.join(' · ')}</>;
}

/** Notes on what could not be read, or is missing. */
function Notes({ facts: { notes, recording } }: { facts: RunFacts }) {
  const all = [...(recording ? [] : [note('runs.reportAlone')]), ...notes];
  if (all.length === 0) return null;
  return (
    <ul class="run-notes" aria-label={t('runs.missing')}>
      {all.map((one, at) => (
        <li key={at}>{visible(noteText(one))}</li>
      ))}
    </ul>
  );
}

function Opened({ run, facts }: { run: OpenRun; facts: RunFacts }) {
  const { source } = run;
  useLayoutEffect(() => {
    recorded.value = source;
    return () => {
      recorded.value = undefined;
    };
  }, [source]);
  return (
    <div class="run-body">
      <Notes facts={facts} />
      {source === undefined ? (
        <ExpectationsView expectations={facts.expectations ?? []} startedAtMs={undefined} />
      ) : recorded.value === source ? (
        <Parts source={source} facts={facts} />
      ) : null}
    </div>
  );
}

function Parts({ source, facts }: { source: RunSource; facts: RunFacts }) {
  const { recording, expectations } = facts;
  const part = shownPart();
  const counts: Partial<Record<RunPart, number>> = {
    herd: recording?.bots ?? 0,
    problems: recording?.causes ?? 0,
    expectations: expectations?.length ?? 0,
  };
  return (
    <>
      <fieldset class="segments run-parts" aria-label={t('runs.parts')}>
        {PARTS.map((one) => (
          <label key={one}>
            <input
              type="radio"
              name="run-part"
              checked={part === one}
              onChange={() => showPart(one)}
            />
            <span>
              {t(TITLES[one])}
              {counts[one] === undefined ? null : ` ${numberText(counts[one])}`}
            </span>
          </label>
        ))}
      </fieldset>
      {part === 'log' ? (
        <Lines source={source} />
      ) : part === 'herd' ? (
        <div class="run-part">
          <RangePicker withHandle />
          <Herd />
        </div>
      ) : part === 'problems' ? (
        <ProblemsView cause={route.value.query.get('cause') ?? ''} />
      ) : expectations ? (
        <ExpectationsView expectations={expectations} startedAtMs={source.range.fromMs} />
      ) : (
        <p class="empty muted">{t('runs.noExpectations')}</p>
      )}
    </>
  );
}

/** The log, from the beginning of the range on. */
function Lines({ source }: { source: RunSource }) {
  const address = useLogAddress();
  const { query, range } = address.filter;
  useEffect(() => source.forget(), [query]);
  const at = route.value.query.get('at') ?? timeRange.value.momentMs ?? range?.fromMs;
  return (
    <>
      <SearchState source={source} />
      <LogPane key={source.round.value} {...address} at={at} />
    </>
  );
}
