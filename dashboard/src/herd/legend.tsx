import { useContext, useMemo, useRef } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { recorded } from '../model/event-source.js';
import { setSelected, table } from '../model/table.js';
import { useThrottled } from '../model/throttle.js';
import { Icon } from '../parts/icons.js';
import { Status } from '../parts/status.js';
import type { Tone } from '../parts/tone.js';
import { botsWith } from '../query/address-query.js';
import { numberText, t } from '../texts/text.js';
import { type CellState, isOwn, STATES, shownStatus, stateOf, statusText } from './cells.js';
import { Source } from './source.js';
import { shapeOf } from './sprites.js';
import { herdView, setLit, toggleLit } from './view.js';

const REDRAW_MS = 400;
/** Statuses with a chip: bots can use any number. */
const MAX_CHIPS = 16;

const RANK: ReadonlyMap<CellState, number> = new Map(STATES.map((state, at) => [state, at]));

/** The statuses that bots have, what is wrong first. A click lights the bots of one in the herd. */
export function Legend() {
  const source = useContext(Source);
  const version = useThrottled(source.version, REDRAW_MS);
  const held = source.held.value;
  const { lit } = herdView.value;
  const seen = useRef(new Set<string>()).current;
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const bot of source.bots().values()) {
      const status = shownStatus(bot, held);
      found.set(status, (found.get(status) ?? 0) + 1);
    }
    // Chips do not move under the pointer, neither when a count changes nor when the last bot leaves a status.
    const isTooMany = found.size + seen.size > MAX_CHIPS;
    for (const status of seen) if (!isTooMany && !found.has(status)) found.set(status, 0);
    // Also while it is lit, so that the filter is visible and can be removed.
    for (const status of lit) if (!found.has(status)) found.set(status, 0);
    seen.clear();
    for (const status of found.keys()) seen.add(status);
    return [...found].sort(([, m], [, n]) => n - m);
  }, [version, held, lit]);
  const rank = (status: string): number => RANK.get(stateOf(status)) ?? 0;
  const shown = counts
    .slice(0, MAX_CHIPS)
    .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const isMore = counts.length > shown.length;
  return (
    <div class="herd-legend">
      <ul aria-label={t('herd.byStatus')}>
        {shown.map(([status, count]) => (
          <li key={status}>
            <button
              type="button"
              class={`herd-chip tone-${toneClass(stateOf(status))}${count === 0 ? ' is-none' : ''}`}
              aria-pressed={lit.has(status)}
              onClick={() => toggleLit(status)}
            >
              <CellStatus status={status} />
              <span class="chip-count" data-count={status}>
                {numberText(count)}
              </span>
            </button>
          </li>
        ))}
        {isMore ? (
          <li class="muted">{t('count.more', { n: counts.length - shown.length })}</li>
        ) : null}
      </ul>
      {lit.size === 0 ? null : <Lit />}
    </div>
  );
}

/** The actions on the bots that pass the filter. */
function Lit() {
  const { lit } = herdView.value;
  const source = useContext(Source);
  useThrottled(source.version, REDRAW_MS);
  const held = source.held.value;
  const ids = [...source.bots().values()].flatMap((bot) =>
    lit.has(shownStatus(bot, held)) ? [bot.id] : [],
  );
  const [only] = lit;
  const isOver = recorded.value !== undefined;
  return (
    <div class="herd-lit">
      {isOver ? null : (
        <button
          type="button"
          disabled={ids.length === 0}
          onClick={() => setSelected(new Set([...table.peek().selected, ...ids]))}
        >
          {t('herd.selectMany', { n: ids.length })}
        </button>
      )}
      {!isOver && lit.size === 1 && only !== undefined && !isOwn(only) ? (
        <a href={botsWith('status', only)}>
          {t('herd.botsThatAre', { status: visible(only) })}
          <Icon name="right" />
        </a>
      ) : null}
      <button type="button" class="quiet" onClick={() => setLit([])}>
        <Icon name="close" />
        {t('filter.clear')}
      </button>
    </div>
  );
}

/** A status, or what the herd shows instead of one. */
export function CellStatus({ status }: { status: string }) {
  if (!isOwn(status)) return <Status status={status} />;
  const state = stateOf(status);
  const tone = toneClass(state);
  const look = tone === state && tone !== 'off' ? 'shape' : 'shape hollow';
  return (
    <span class={`status tone-${tone}`}>
      <svg class={look} viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
        <path d={shapeOf(state)} />
      </svg>
      <span class="status-name">{statusText(status)}</span>
    </span>
  );
}

function toneClass(state: CellState): Tone {
  if (state === 'held') return 'bad';
  if (state === 'back') return 'wait';
  return state === 'unknown' ? 'off' : state;
}
