// One run: its lines over time, its log, herd, incidents and expectations.

import type { VNode } from 'preact';
import { visible } from '../../../src/shared/contract/escapes.js';
import { hrefTo } from '../model/route.js';
import { fullTime } from '../model/time.js';
import { Icon } from '../parts/icons.js';
import { sizeText } from '../parts/size.js';
import { ViewHead } from '../parts/view-head.js';
import { QueryBox } from '../query/query-box.js';
import { numberText, type PlainKey, t } from '../texts/text.js';
import { CausesView } from './causes-view.js';
import { ExpectationsView } from './expectations-view.js';
import { note } from './note.js';
import { noteText } from './note-text.js';
import type { OpenRun } from './open-runs.js';
import { PARTS, type RunPart, runAddress, showInRun } from './run-address.js';
import { RunChart } from './run-chart.js';
import type { RunFacts } from './run-facts.js';
import { RunHerd } from './run-herd.js';
import { RunLog } from './run-log.js';
import { lengthText, sinceText } from './run-time.js';
import { useSelection } from './use-selection.js';

/** How long to wait for more letters, in ms: a query reads the whole file. */
export const QUERY_WAIT_MS = 300;

const TITLES: Readonly<Record<RunPart, PlainKey>> = {
  log: 'page.log',
  herd: 'herd.title',
  causes: 'page.incidents',
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
          t('count.bots', { n: recording.bots.length }),
        ]
      : []),
    ...(expectations ? [t('runs.failedOf', { n: failed, all: expectations.length })] : []),
  ];
  return <>{parts.join(' · ')}</>;
}

/** What could not be read, and what a report alone does not have. */
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
  const { recording, expectations } = facts;
  if (!recording) {
    return (
      <div class="run-body">
        <Notes facts={facts} />
        <ExpectationsView expectations={expectations ?? []} hasLog={false} />
      </div>
    );
  }
  return <Recorded run={run} facts={facts} />;
}

function Recorded({ run, facts }: { run: OpenRun; facts: RunFacts }) {
  const { recording, expectations } = facts;
  const address = runAddress();
  const { query, afterMs, beforeMs, atMs } = address;
  const selection = useSelection(run, query);
  const part = address.part ?? 'log';
  const counts: Partial<Record<RunPart, number>> = {
    herd: recording?.bots.length ?? 0,
    causes: recording?.causes.length ?? 0,
    expectations: expectations?.length ?? 0,
  };
  return (
    <div class="run-body">
      <Notes facts={facts} />
      <QueryLine query={query} afterMs={afterMs} beforeMs={beforeMs} />
      <div class="log-times">
        <RunChart run={run} selection={selection} lengthMs={recording?.lengthMs ?? 0} atMs={atMs} />
      </div>
      <fieldset class="segments run-parts" aria-label={t('runs.parts')}>
        {PARTS.map((one) => (
          <label key={one}>
            <input
              type="radio"
              name="run-part"
              checked={part === one}
              onChange={() => showInRun({ part: one })}
            />
            <span>
              {t(TITLES[one])}
              {counts[one] === undefined ? null : ` ${numberText(counts[one])}`}
            </span>
          </label>
        ))}
      </fieldset>
      {part === 'log' ? (
        <RunLog
          run={run}
          selection={selection}
          query={query}
          afterMs={afterMs}
          beforeMs={beforeMs}
          atMs={atMs}
        />
      ) : part === 'herd' ? (
        <RunHerd run={run} atMs={atMs} />
      ) : part === 'causes' ? (
        <CausesView causes={recording?.causes ?? []} />
      ) : expectations ? (
        <ExpectationsView expectations={expectations} hasLog />
      ) : (
        <p class="empty muted">{t('runs.noExpectations')}</p>
      )}
    </div>
  );
}

interface QueryLineProps {
  query: string;
  afterMs: number | undefined;
  beforeMs: number | undefined;
}

/** The query and the range, which can be taken back. */
function QueryLine({ query, afterMs, beforeMs }: QueryLineProps) {
  return (
    <div class="toolbar" role="search">
      <QueryBox
        use="lines"
        value={query}
        waitMs={QUERY_WAIT_MS}
        onChange={(next) => showInRun({ query: next, atMs: undefined })}
      />
      {afterMs === undefined && beforeMs === undefined ? null : (
        <span class="toolbar-end">
          <button
            type="button"
            title={t('runs.whole')}
            onClick={() => showInRun({ afterMs: undefined, beforeMs: undefined })}
          >
            {sinceText(afterMs ?? 0)} –{' '}
            {beforeMs === undefined ? t('runs.end') : sinceText(beforeMs)}
            <Icon name="close" />
          </button>
        </span>
      )}
    </div>
  );
}
