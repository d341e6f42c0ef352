import type { EventsPage, EventsQuery } from '../../../src/client/index.js';
import { LIMIT } from '../../../src/shared/contract/query-bounds.js';
import { api } from './session.js';

/** Most requests for one list: a page ends early where there is much to search. */
const MAX_PAGES = 20;

/** The first `limit` events of a range, from as many pages as needed. With a cursor there are more, or they were not found in time. */
export async function readEvents(
  query: EventsQuery & { limit: number; signal: AbortSignal },
): Promise<EventsPage> {
  const most = (limit: number): number => Math.min(LIMIT.maximum, limit);
  const page = await api().events({ ...query, limit: most(query.limit) });
  for (let n = 1; n < MAX_PAGES && page.cursor !== null && page.events.length < query.limit; n++) {
    const limit = most(query.limit - page.events.length);
    const next = await api().events({ ...query, limit, cursor: page.cursor });
    page.events.push(...next.events);
    page.cursor = next.cursor;
  }
  return page;
}
