import { useMemo, useState } from 'preact/hooks';
import { cluster } from '../model/cluster.js';
import { heldHosts, useHosts } from '../model/hosts.js';
import { bots, botsVersion, isLoaded } from '../model/live.js';
import { may } from '../model/own-token.js';
import { useThrottled } from '../model/throttle.js';
import { SelectionBar } from '../views/selection-bar.js';
import { HerdCanvas } from './canvas.js';
import { shownStatus } from './cells.js';
import { type Grouping, labelNames } from './grouping.js';
import { Legend } from './legend.js';
import { HerdTable } from './table.js';
import { groupBy, herdView, showAs } from './view.js';

const REDRAW_MS = 500;
/** Labels change rarely, and to collect them visits each. */
const LABELS_MS = 3000;

/** All bots at once: a cell each, or a table. */
export function Herd() {
  useHosts();
  useThrottled(botsVersion, REDRAW_MS);
  const { isTable } = herdView.value;
  const [isSelecting, setSelecting] = useState(false);
  return (
    <section class="card herd" aria-label="Herd">
      <header class="card-head">
        <a class="herd-total" href="#/bots">
          <strong data-count="all">{isLoaded.value ? bots.size.toLocaleString('en') : '–'}</strong>{' '}
          {bots.size === 1 ? 'bot' : 'bots'}
        </a>
        {bots.size === 0 ? null : (
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
      {bots.size === 0 ? (
        <Empty />
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
  const version = useThrottled(botsVersion, LABELS_MS);
  const { by } = herdView.value;
  const names = useMemo(() => labelNames(bots.values()), [version]);
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
  const held = heldHosts.value;
  const hiddenOf = (present: readonly string[]): number => {
    if (lit.size === 0) return 0;
    return present.filter((id) => {
      const bot = bots.get(id);
      return bot && !lit.has(shownStatus(bot, held));
    }).length;
  };
  return (
    <SelectionBar hiddenOf={hiddenOf} list=".herd-cells">
      <a class="herd-to-bots" href="#/bots">
        Show in Bots
      </a>
    </SelectionBar>
  );
}

function Empty() {
  if (!isLoaded.value) return <p class="herd-none muted">Loading…</p>;
  return (
    <div class="herd-none">
      <p>No bots yet.</p>
      {may('control') ? (
        <p class="muted">
          Create the first in <a href="#/bots">Bots</a>: it gets a cell here.
        </p>
      ) : null}
    </div>
  );
}
