import { useMemo, useState } from 'preact/hooks';
import { cluster } from '../model/cluster.js';
import { useHosts } from '../model/hosts.js';
import { isLoaded } from '../model/live.js';
import { may } from '../model/own-token.js';
import { hrefTo } from '../model/route.js';
import { useThrottled } from '../model/throttle.js';
import { shownMoment } from '../model/time-range.js';
import { lazyView } from '../parts/lazy-view.js';
import { SelectionBar } from '../views/selection-bar.js';
import { HerdCanvas } from './canvas.js';
import { shownStatus } from './cells.js';
import { type Grouping, labelNames } from './grouping.js';
import { Legend } from './legend.js';
import { herdBots, herdHeld, herdVersion, past, pastError, usePast } from './past.js';
import { HerdTable } from './table.js';
import { groupBy, herdView, showAs } from './view.js';

const Moment = lazyView(
  async () => (await import('./moment.js')).Moment,
  <div class="moment is-loading" />,
);

const REDRAW_MS = 500;
/** Labels change rarely, and to collect them visits each. */
const LABELS_MS = 3000;

/** All bots at once: a cell each, or a table. */
export function Herd() {
  useHosts();
  usePast();
  useThrottled(herdVersion, REDRAW_MS);
  const isPast = shownMoment.value !== undefined;
  const shown = herdBots();
  const isKnown = isPast ? past.value !== undefined : isLoaded.value;
  const { isTable } = herdView.value;
  const [isSelecting, setSelecting] = useState(false);
  return (
    <section class="card herd" aria-label="Herd">
      <header class="card-head">
        <a class="herd-total" href={hrefTo('bots')}>
          <strong data-count="all">{isKnown ? shown.size.toLocaleString('en') : '–'}</strong>{' '}
          {shown.size === 1 ? 'bot' : 'bots'}
        </a>
        {shown.size === 0 ? null : (
          <div class="herd-tools">
            <GroupBy />
            {isTable ? null : (
              <button
                type="button"
                class="herd-select"
                aria-pressed={isSelecting}
                title="Draw around bots to select them. With a mouse you can always do that."
                onClick={() => setSelecting(!isSelecting)}
              >
                Select
              </button>
            )}
            <fieldset class="segments" aria-label="Show as">
              {(['cells', 'table'] as const).map((as) => (
                <label key={as}>
                  <input
                    type="radio"
                    name="herd-as"
                    checked={isTable === (as === 'table')}
                    onChange={() => showAs(as)}
                  />
                  <span>{as === 'cells' ? 'Cells' : 'Table'}</span>
                </label>
              ))}
            </fieldset>
          </div>
        )}
      </header>
      <Moment />
      {shown.size === 0 ? (
        isPast ? (
          <NoPast />
        ) : (
          <Empty />
        )
      ) : (
        <>
          <Legend />
          {isTable ? <HerdTable /> : <HerdCanvas isSelecting={isSelecting} />}
          <Selected />
        </>
      )}
    </section>
  );
}

function GroupBy() {
  const version = useThrottled(herdVersion, LABELS_MS);
  const { by } = herdView.value;
  const names = useMemo(() => labelNames(herdBots().values()), [version]);
  const options: [Grouping, string][] = [
    ['kind', 'Kind'],
    ['host', 'Host'],
    ...(cluster.value === null ? [] : [['node', 'Node'] as [Grouping, string]]),
    ...names.map((name): [Grouping, string] => [`label:${name}`, `Label ${name}`]),
    ['none', 'Nothing'],
  ];
  // One of the address that no bot has at present.
  if (!options.some(([value]) => value === by)) options.push([by, by.replace(/^label:/, 'Label ')]);
  return (
    <label class="herd-by">
      <span class="muted">Group by</span>
      <select value={by} onChange={({ currentTarget }) => groupBy(currentTarget.value as Grouping)}>
        {options.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The selection is that of the table of bots. */
function Selected() {
  const { lit } = herdView.value;
  const held = herdHeld.value;
  const hiddenOf = (present: readonly string[]): number => {
    if (lit.size === 0) return 0;
    return present.filter((id) => {
      const bot = herdBots().get(id);
      return bot && !lit.has(shownStatus(bot, held));
    }).length;
  };
  return (
    <SelectionBar hiddenOf={hiddenOf} list=".herd-cells">
      {() => (
        <a class="herd-to-bots" href={hrefTo('bots')}>
          Show in Bots
        </a>
      )}
    </SelectionBar>
  );
}

function NoPast() {
  const { value: shown } = past;
  const text =
    pastError.value !== undefined
      ? `The states of this moment cannot be shown: ${pastError.value.message}`
      : shown === undefined
        ? 'Loading…'
        : (shownMoment.value ?? 0) < (shown.known_from_ms ?? Number.POSITIVE_INFINITY)
          ? 'Nothing is known of this moment: the journal does not reach back so far.'
          : 'No bots were there at this moment: none had been created, or the service did not run.';
  return <p class="herd-none muted">{text}</p>;
}

function Empty() {
  if (!isLoaded.value) return <p class="herd-none muted">Loading…</p>;
  return (
    <div class="herd-none">
      <p>No bots yet.</p>
      {may('control') ? (
        <p class="muted">
          Create the first in <a href={hrefTo('bots')}>Bots</a>: it gets a cell here.
        </p>
      ) : null}
    </div>
  );
}
