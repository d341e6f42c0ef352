import type { AnswerOf, GivenQuery } from '../shared/contract/routes/table.js';
import type { StreamEvent } from './stream-events.js';

/** Query of `GET /api/events`. */
export type EventsQuery = Omit<GivenQuery<'GET /api/events'>, 'format'>;

export type ActivityQuery = Omit<GivenQuery<'GET /api/activity'>, 'format'>;

/** Query of a download, which returns the whole range. */
export type DownloadQuery = Omit<EventsQuery, 'limit' | 'cursor'>;

/** One page. An empty page can have a cursor; null means the end of the range. `missing`: the nodes that did not answer. */
export type EventsPage = Omit<AnswerOf<'GET /api/events'>, 'events'> & { events: StreamEvent[] };

/** Query of `GET /api/bots/{id}/history`. */
export type BotHistoryQuery = GivenQuery<'GET /api/bots/{id}/history'>;
export type BotHistory = AnswerOf<'GET /api/bots/{id}/history'>;
export type BotHistoryPoint = BotHistory['points'][number];

/** Query of `GET /api/stats`. */
export type StatsQuery = GivenQuery<'GET /api/stats'>;
/** Body of `GET /api/stats`. Buckets are in ascending order; empty ones are omitted. */
export type Stats = AnswerOf<'GET /api/stats'>;
export type StatsBucket = Stats['buckets'][number];

/** Query of `GET /api/incidents/groups`. */
export type IncidentGroupsQuery = GivenQuery<'GET /api/incidents/groups'>;

/** Body of `GET /api/states`: what each bot was at a moment. */
export type { BotState, PastStates } from '../shared/contract/journal-messages.js';
