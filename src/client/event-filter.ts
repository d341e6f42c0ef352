import type { GivenQuery } from '../shared/contract/routes/table.js';

/** A bot is selected if it has one value of each given list, and all labels. An empty list selects nothing. */
export type BotFilter = Omit<GivenQuery<'GET /api/bots'>, 'sort' | 'limit' | 'cursor'>;

/** The same for events (docs/API.md, Filters): those about such bots, from such nodes. */
export type EventFilter = Omit<
  GivenQuery<'GET /events'>,
  'snapshot' | 'last_event_id' | 'lastEventId'
>;
