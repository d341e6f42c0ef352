// What differs between two runs, as tables: a row leads both logs to its moment.

import { visible } from '../../../src/shared/contract/escapes.js';
import { Icon } from '../parts/icons.js';
import { Status } from '../parts/status.js';
import { isEmpty, type Moments, type RunDiff } from './diff.js';
import { ResultMark } from './expectations-view.js';
import { showInRun } from './run-address.js';
import { sinceText } from './run-time.js';

/** Differences of a kind that are drawn. */
const MAX_ROWS = 200;

export function Differences({ diff, names }: { diff: RunDiff; names: { a: string; b: string } }) {
  const { expectations, causes, bots, levels } = diff;
  return (
    <section class="run-differences" aria-label="What differs">
      <h2>What differs</h2>
      {isEmpty(diff) ? <p class="muted">Nothing that the page compares.</p> : null}
      <div class="run-tables">
        {levels ? (
          <DiffTable title="Lines by level" names={names} count={levels.length}>
            {levels.map(({ level, count }) => (
              <tr key={level} class={count.a === count.b ? 'muted' : ''}>
                <th scope="row">{level}</th>
                <td>{count.a.toLocaleString('en')}</td>
                <td>{count.b.toLocaleString('en')}</td>
              </tr>
            ))}
          </DiffTable>
        ) : null}
        {expectations === undefined ? null : (
          <DiffTable title="Expectations" names={names} count={expectations.length}>
            {expectations.slice(0, MAX_ROWS).map((one, at) => (
              <tr key={at}>
                <Look at={one} what={one.name} />
                <td title={visible(one.message.a)}>
                  <ResultMark result={one.result.a} />
                </td>
                <td title={visible(one.message.b)}>
                  <ResultMark result={one.result.b} />
                </td>
              </tr>
            ))}
          </DiffTable>
        )}
        {causes === undefined ? null : (
          <DiffTable title="Incidents by cause" names={names} count={causes.length}>
            {causes.slice(0, MAX_ROWS).map((one, at) => (
              <tr key={at}>
                <Look
                  at={one}
                  what={one.title}
                  note={one.type === 'failure' ? 'bot failed' : 'error line'}
                />
                <td>{one.count.a.toLocaleString('en')}</td>
                <td>{one.count.b.toLocaleString('en')}</td>
              </tr>
            ))}
          </DiffTable>
        )}
        {bots === undefined ? null : (
          <DiffTable title="Bots at the end" names={names} count={bots.length}>
            {bots.slice(0, MAX_ROWS).map((one) => (
              <tr key={one.id}>
                <Look at={one} what={one.id} />
                {[one.status.a, one.status.b].map((status, at) => (
                  <td key={at}>
                    {status === undefined ? (
                      <span class="muted">not there</span>
                    ) : (
                      <Status status={status} />
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </DiffTable>
        )}
      </div>
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

interface LookProps {
  at: Moments;
  what: string;
  note?: string;
}

/** What differs. It leads both logs to where it happened: in B, or in A if B does not have it. */
function Look({ at, what, note }: LookProps) {
  const ms = at.b ?? at.a;
  const about = note === undefined ? null : <span class="muted">, {note}</span>;
  if (ms === undefined) {
    return (
      <th scope="row">
        {visible(what)}
        {about}
      </th>
    );
  }
  const look = (): void =>
    showInRun({ query: '', afterMs: undefined, beforeMs: undefined, atMs: ms });
  return (
    <th scope="row">
      <button
        type="button"
        class="quiet run-look"
        title="Show both logs at this moment"
        onClick={look}
      >
        <span>
          {visible(what)}
          {about}
        </span>
        <span class="muted run-look-at">
          {sinceText(ms)}
          <Icon name="right" />
        </span>
      </button>
    </th>
  );
}
