// Two runs side by side, aligned at their starts: what differs, their lines over time on one axis, and both logs.

import { useMemo } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { hrefTo } from '../model/route.js';
import { Icon } from '../parts/icons.js';
import { Status } from '../parts/status.js';
import { ViewHead } from '../parts/view-head.js';
import { diffOf, isEmpty, type Moments, type RunDiff } from './diff.js';
import { ResultMark } from './expectations-view.js';
import type { OpenRun } from './open-runs.js';
import { hrefOfRun, runAddress, showInRun } from './run-address.js';
import { RunChart } from './run-chart.js';
import type { RunFacts } from './run-facts.js';
import { RunLog } from './run-log.js';
import { sinceText } from './run-time.js';
import { Notes, QueryLine, Reading } from './run-view.js';
import { useSelection } from './use-selection.js';

/** Differences of a kind that are drawn. */
const MAX_ROWS = 200;

export function CompareView({ a, b }: { a: OpenRun; b: OpenRun }) {
  return (
    <div class="view-full run-view run-compare">
      <ViewHead title="Two runs">
        <a class="button" href={hrefOfRun(b.name, a.name)}>
          Swap
        </a>
        <a class="button" href={hrefTo('runs')}>
          All runs
        </a>
      </ViewHead>
      {a.facts && b.facts ? (
        <Both a={a} b={b} ofA={a.facts} ofB={b.facts} />
      ) : (
        [a, b].map((run) =>
          run.error !== undefined ? (
            <p key={run.name} class="run-note bad" role="alert">
              {visible(run.name)} cannot be opened: {run.error}.
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
  const { query, afterMs, beforeMs } = runAddress();
  const lengthMs = Math.max(ofA.recording?.lengthMs ?? 0, ofB.recording?.lengthMs ?? 0);
  const diff = useMemo(() => diffOf(ofA, ofB), [ofA, ofB]);
  const hasLog = ofA.recording !== undefined || ofB.recording !== undefined;
  return (
    <div class="run-body">
      <Differences diff={diff} names={{ a: a.name, b: b.name }} />
      {hasLog ? <QueryLine query={query} afterMs={afterMs} beforeMs={beforeMs} /> : null}
      <div class="run-pair">
        {[a, b].map((run) => (
          <Side key={run.name} run={run} lengthMs={lengthMs} mark={run === a ? 'A' : 'B'} />
        ))}
      </div>
    </div>
  );
}

function Side({ run, lengthMs, mark }: { run: OpenRun; lengthMs: number; mark: 'A' | 'B' }) {
  const { query, afterMs, beforeMs, atMs } = runAddress();
  const { facts } = run;
  return (
    <section class="run-side" aria-label={`Run ${mark}`}>
      <h2>
        <span class="run-letter">{mark}</span>
        <a href={hrefOfRun(run.name)}>{visible(run.name)}</a>
      </h2>
      {facts ? <Notes facts={facts} /> : null}
      {facts?.recording ? (
        <SideLog {...{ run, lengthMs, mark, query, afterMs, beforeMs, atMs }} />
      ) : null}
    </section>
  );
}

interface SideLogProps {
  run: OpenRun;
  lengthMs: number;
  mark: 'A' | 'B';
  query: string;
  afterMs: number | undefined;
  beforeMs: number | undefined;
  atMs: number | undefined;
}

function SideLog({ run, lengthMs, mark, query, afterMs, beforeMs, atMs }: SideLogProps) {
  const selection = useSelection(run, query);
  return (
    <>
      <RunChart run={run} selection={selection} lengthMs={lengthMs} atMs={atMs} />
      <RunLog
        {...{ run, selection, query, afterMs, beforeMs, atMs }}
        name={mark === 'A' ? 'run-line-a' : 'run-line-b'}
      />
    </>
  );
}

function Differences({ diff, names }: { diff: RunDiff; names: { a: string; b: string } }) {
  const { expectations, causes, bots, levels } = diff;
  return (
    <section class="run-differences" aria-label="What differs">
      <h2>What differs</h2>
      {isEmpty(diff) ? <p class="muted">Nothing that the page compares.</p> : null}
      {levels ? (
        <DiffTable title="Lines by level" names={names} count={levels.length}>
          {levels.map(({ level, count }) => (
            <tr key={level} class={count.a === count.b ? 'muted' : ''}>
              <th scope="row">{level}</th>
              <td>{count.a.toLocaleString('en')}</td>
              <td>{count.b.toLocaleString('en')}</td>
              <td />
            </tr>
          ))}
        </DiffTable>
      ) : null}
      {expectations === undefined ? null : (
        <DiffTable title="Expectations" names={names} count={expectations.length}>
          {expectations.slice(0, MAX_ROWS).map((one, at) => (
            <tr key={at}>
              <th scope="row">{visible(one.name)}</th>
              <td title={visible(one.message.a)}>
                <ResultMark result={one.result.a} />
              </td>
              <td title={visible(one.message.b)}>
                <ResultMark result={one.result.b} />
              </td>
              <Look at={one} what={one.name} />
            </tr>
          ))}
        </DiffTable>
      )}
      {causes === undefined ? null : (
        <DiffTable title="Incidents by cause" names={names} count={causes.length}>
          {causes.slice(0, MAX_ROWS).map((one, at) => (
            <tr key={at}>
              <th scope="row">{visible(one.title)}</th>
              <td>{one.count.a.toLocaleString('en')}</td>
              <td>{one.count.b.toLocaleString('en')}</td>
              <Look at={one} what={one.title} />
            </tr>
          ))}
        </DiffTable>
      )}
      {bots === undefined ? null : (
        <DiffTable title="Bots at the end" names={names} count={bots.length}>
          {bots.slice(0, MAX_ROWS).map((one) => (
            <tr key={one.id}>
              <th scope="row">{visible(one.id)}</th>
              {[one.status.a, one.status.b].map((status, at) => (
                <td key={at}>
                  {status === undefined ? (
                    <span class="muted">not there</span>
                  ) : (
                    <Status status={status} />
                  )}
                </td>
              ))}
              <Look at={one} what={one.id} />
            </tr>
          ))}
        </DiffTable>
      )}
    </section>
  );
}

interface DiffTableProps {
  title: string;
  names: { a: string; b: string };
  count: number;
  children: preact.ComponentChildren;
}

function DiffTable({ title, names, count, children }: DiffTableProps) {
  return (
    <div class="card run-diff">
      <h3>
        {title} <span class="muted">{count === 0 ? 'no difference' : ''}</span>
      </h3>
      {count === 0 ? null : (
        <table>
          <thead>
            <tr>
              <td />
              <th scope="col" title={visible(names.a)}>
                A
              </th>
              <th scope="col" title={visible(names.b)}>
                B
              </th>
              <td />
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      )}
      {count > MAX_ROWS ? (
        <p class="muted">
          The first {MAX_ROWS} of {count.toLocaleString('en')}.
        </p>
      ) : null}
    </div>
  );
}

/** Leads both logs to where it happened: in the run that has it. */
function Look({ at, what }: { at: Moments; what: string }) {
  const ms = at.b ?? at.a;
  if (ms === undefined) return <td />;
  const look = (): void =>
    showInRun({
      query: '',
      afterMs: undefined,
      beforeMs: undefined,
      atMs: ms,
    });
  return (
    <td>
      <button
        type="button"
        class="quiet run-moment"
        title="Show both logs at this moment"
        aria-label={`Show both logs at ${sinceText(ms)}: ${visible(what)}`}
        onClick={look}
      >
        {sinceText(ms)}
        <Icon name="right" />
      </button>
    </td>
  );
}
