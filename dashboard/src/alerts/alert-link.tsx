import { hrefTo } from '../model/route.js';
import { Icon } from '../parts/icons.js';

/** Leads to a new rule on a query. A space stands for an empty one, which an address would leave out. */
export function AlertLink({ query, on }: { query: string; on: 'bots' | 'lines' }) {
  return (
    <a
      class="button square quiet"
      href={hrefTo('alerts', '', { new: query === '' ? ' ' : query, on })}
      aria-label="Alert on this"
      title="Alert on this"
    >
      <Icon name="bell" />
    </a>
  );
}
