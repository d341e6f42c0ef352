// Owns the log of all bots. What it is filtered by is in the address.

import { useMemo } from 'preact/hooks';
import type { Level } from '../../../src/client/index.js';
import type { LogFilter } from '../model/log-window.js';
import { replaceQuery, route } from '../model/route.js';
import { LogPane } from './log-pane.js';
import { LEVEL_NAMES } from './log-toolbar.js';

export function LogView() {
  const { query } = route.value;
  const text = query.toString();
  const filter = useMemo(() => filterOf(query), [text]);
  return (
    <div class="view-full log-view">
      <h1 class="unseen">Log</h1>
      <LogPane
        filter={filter}
        onFilter={(next) => replaceQuery(queryOf(next))}
        at={query.get('at') ?? undefined}
      />
    </div>
  );
}

function filterOf(query: URLSearchParams): LogFilter {
  const list = (name: string): string[] =>
    (query.get(name) ?? '').split(',').filter((part) => part !== '');
  const dir = query.get('dir');
  return {
    levels: list('level').filter((name): name is Level =>
      (LEVEL_NAMES as readonly string[]).includes(name),
    ),
    scopes: list('scope'),
    bots: list('bot'),
    dir: dir === 'in' || dir === 'out' || dir === 'wire' ? dir : '',
    text: query.get('q') ?? '',
  };
}

function queryOf({ levels, scopes, bots, dir, text }: LogFilter): Record<string, string> {
  return { level: levels.join(), scope: scopes.join(), bot: bots.join(), dir, q: text };
}
