// Owns the search and the filters of the table of bots.

import { useMemo } from 'preact/hooks';
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
      <select
        aria-label="Status"
        value={query.status}
        onChange={({ currentTarget }) => change(query, { status: currentTarget.value })}
      >
        <option value="">All statuses</option>
        {withChosen(statuses, query.status).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select
        aria-label="Kind"
        value={query.kind}
        onChange={({ currentTarget }) => change(query, { kind: currentTarget.value })}
      >
        <option value="">All kinds</option>
        {withChosen(kindNames, query.kind).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </div>
  );
}

function withChosen(names: string[], chosen: string): string[] {
  return chosen === '' || names.includes(chosen) ? names : [...names, chosen];
}
