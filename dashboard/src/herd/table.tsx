import { useMemo } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { lastLines } from '../model/live.js';
import { hrefTo } from '../model/route.js';
import { setSelected, table } from '../model/table.js';
import { useThrottled } from '../model/throttle.js';
import { age, second, span } from '../model/time.js';
import { shownMoment } from '../model/time-range.js';
import { useMore } from '../parts/more.js';
import { LineText } from '../parts/text.js';
import { currentError } from '../parts/tone.js';
import { t } from '../texts/text.js';
import { shownStatus } from './cells.js';
import { ordered } from './grouping.js';
import { CellStatus } from './legend.js';
import { herdBots, herdHeld, herdVersion } from './past.js';
import { herdView } from './view.js';

const REDRAW_MS = 1000;
/** Rows that are shown at first, and how many more each time. */
const ROWS = 100;

/** The herd as a table: the same bots in the same order. */
export function HerdTable() {
  const version = useThrottled(herdVersion, REDRAW_MS);
  void second.value;
  const { by, lit } = herdView.value;
  const held = herdHeld.value;
  const { selected } = table.value;
  const moment = shownMoment.value;
  const rows = useMemo(() => {
    const found = ordered(herdBots().values(), by);
    return found.groups.flatMap(({ title, first, count }) =>
      found.bots
        .slice(first, first + count)
        .map((bot) => ({ bot, title, status: shownStatus(bot, held) }))
        .filter(({ status }) => lit.size === 0 || lit.has(status)),
    );
  }, [version, by, lit, held]);
  const { shown, more } = useMore(rows, ROWS);
  const toggle = (id: string): void => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  return (
    <div class="table-box">
      <table class="herd-table">
        <caption class="unseen">{t('herd.botsOf')}</caption>
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">{t('herd.selected')}</span>
            </th>
            <th scope="col">{t('term.bot')}</th>
            <th scope="col">{t('term.status')}</th>
            {by === 'none' ? null : <th scope="col">{t('term.group')}</th>}
            <th scope="col">{t('term.duration')}</th>
            <th scope="col">{t('term.lastLine')}</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ bot: { id, since_ms, last_error }, title, status }) => {
            const said = currentError(status, last_error) ?? lastLines.get(id)?.text;
            const line = moment === undefined ? said : undefined;
            return (
              <tr key={id}>
                <td>
                  <input
                    type="checkbox"
                    aria-label={t('bots.select', { bot: id })}
                    checked={selected.has(id)}
                    onClick={() => toggle(id)}
                  />
                </td>
                <th scope="row" title={id}>
                  <a href={hrefTo('bots', id)}>{id}</a>
                </th>
                <td>
                  <CellStatus status={status} />
                </td>
                {by === 'none' ? null : <td>{visible(title)}</td>}
                <td>{moment === undefined ? age(since_ms) : span(moment - since_ms)}</td>
                <td class="herd-table-line">
                  {line === undefined ? null : <LineText text={line} />}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {more}
    </div>
  );
}
