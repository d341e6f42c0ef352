import type { ComponentChildren } from 'preact';
import { AlertLink } from '../problems/alert-link.js';
import { QueryBox } from '../query/query-box.js';
import { SavedViewsMenu } from '../query/saved-views-menu.js';
import { change, type Query } from './bots-query.js';

export function Filters({ query, children }: { query: Query; children: ComponentChildren }) {
  return (
    <div class="filters" role="search">
      <QueryBox use="bots" value={query.q} waitMs={0} onChange={(q) => change(query, { q })} />
      {children}
      <SavedViewsMenu />
      <AlertLink query={query.q} on="bots" />
    </div>
  );
}
