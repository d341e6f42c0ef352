// What differs between two runs, as tables: a row leads both logs to its moment.

import { visible } from '../../../src/shared/contract/escapes.js';
import { Icon } from '../parts/icons.js';
import { Status } from '../parts/status.js';
import { numberText, t } from '../texts/text.js';
import { isEmpty, type Moments, type RunDiff } from './diff.js';
import { ResultMark } from './expectations-view.js';
import { showInRun } from './run-address.js';
import { sinceText } from './run-time.js';

/** Differences of a kind that are drawn. */
const MAX_ROWS = 200;

export function Differences({ diff, names }: { diff: RunDiff; names: { a: string; b: string } }) {
  const { expectations, causes, bots, levels } = diff;
  return (
    <section class="run-differences" aria-label={t('runs.differs')}>
      <h2>{t('runs.differs')}</h2>
      {isEmpty(diff) ? <p class="muted">{t('runs.nothingDiffers')}</p> : null}
      <div class="run-tables">
        {levels ? (
          <DiffTable title={t('runs.byLevel')} names={names} count={levels.length}>
            {levels.map(({ level, count }) => (
              <tr key={level} class={count.a === count.b ? 'muted' : ''}>
                <th scope="row">{level}</th>
                <td>{numberText(count.a)}</td>
                <td>{numberText(count.b)}</td>
              </tr>
            ))}
          </DiffTable>
        ) : null}
        {expectations === undefined ? null : (
          <DiffTable title={t('runs.expectations')} names={names} count={expectations.length}>
            {expectations.slice(0, MAX_ROWS).map((one, at) => (
              <tr key={at}>
                <Look at={one} what={one.name || t('runs.noName')} />
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
          <DiffTable title={t('runs.byCause')} names={names} count={causes.length}>
            {causes.slice(0, MAX_ROWS).map((one, at) => (
              <tr key={at}>
                <Look
                  at={one}
                  what={one.title}
                  note={t(one.type === 'failure' ? 'runs.failureNote' : 'runs.lineNote')}
                />
                <td>{numberText(one.count.a)}</td>
                <td>{numberText(one.count.b)}</td>
              </tr>
            ))}
          </DiffTable>
        )}
        {bots === undefined ? null : (
          <DiffTable title={t('runs.botsAtEnd')} names={names} count={bots.length}>
            {bots.slice(0, MAX_ROWS).map((one) => (
              <tr key={one.id}>
                <Look at={one} what={one.id} />
                {[one.status.a, one.status.b].map((status, at) => (
                  <td key={at}>
                    {status === undefined ? (
                      <span class="muted">{t('runs.notThere')}</span>
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
        {title} <span class="muted">{count === 0 ? t('runs.noDifference') : ''}</span>
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
        <p class="muted">{t('runs.firstRows', { n: MAX_ROWS, all: count })}</p>
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
      <button type="button" class="quiet run-look" title={t('runs.bothLogs')} onClick={look}>
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
