import { useMemo } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { nodeNames } from '../model/cluster.js';
import { bots } from '../model/live.js';
import { Icon } from '../parts/icons.js';
import { change, natural, type Query } from './bots-query.js';

export function Filters({ query, version }: { query: Query; version: number }) {
  const [statuses, kindNames] = useMemo(() => {
    const all = [...bots.values()];
    const distinct = (values: string[]): string[] => [...new Set(values)].sort(natural.compare);
    return [distinct(all.map((bot) => bot.status)), distinct(all.map((bot) => bot.kind))];
  }, [version]);
  return (
    <div class="filters" role="search">
      <label class="search">
        <Icon name="search" />
        <input
          type="search"
          data-search
          placeholder="Search bots, labels, errors"
          aria-label="Search bots"
          value={query.text}
          onInput={({ currentTarget }) => change(query, { text: currentTarget.value })}
        />
      </label>
      <Choice
        name="Status"
        all="All statuses"
        names={statuses}
        chosen={query.status}
        onChoose={(status) => change(query, { status })}
      />
      <Choice
        name="Kind"
        all="All kinds"
        names={kindNames}
        chosen={query.kind}
        onChoose={(kind) => change(query, { kind })}
      />
      {nodeNames.value.length > 0 || query.node !== '' ? (
        <Choice
          name="Node"
          all="All nodes"
          names={nodeNames.value}
          chosen={query.node}
          onChoose={(node) => change(query, { node })}
        />
      ) : null}
    </div>
  );
}

interface ChoiceProps {
  name: string;
  /** The option for no selection. */
  all: string;
  names: readonly string[];
  chosen: string;
  onChoose: (name: string) => void;
}

function Choice({ name, all, names, chosen, onChoose }: ChoiceProps) {
  // The chosen value, even if no bot has it right now.
  const shown = chosen === '' || names.includes(chosen) ? names : [...names, chosen];
  return (
    <select
      aria-label={name}
      value={chosen}
      onChange={({ currentTarget }) => onChoose(currentTarget.value)}
    >
      <option value="">{all}</option>
      {shown.map((one) => (
        <option key={one} value={one}>
          {visible(one)}
        </option>
      ))}
    </select>
  );
}
