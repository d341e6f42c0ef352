// Runs in tabs. The interface of sources of events: the service's journal, and recordings. Owns the recording that the page shows.

import { signal } from '@preact/signals';
import type {
  CallOptions,
  EventsPage,
  EventsQuery,
  IncidentGroups,
  IncidentGroupsQuery,
  PastStates,
  Stats,
  StatsBucket,
  StatsQuery,
} from '../../../src/client/index.js';
import type { Bounds } from '../range/range.js';

/** Lines by level over time. */
export interface Counted extends Pick<Stats, 'counted_from_ms'> {
  buckets: readonly Pick<StatsBucket, 'at_ms' | 'levels'>[];
}

/** The service's API is one such source. */
export interface EventSource {
  events(query: EventsQuery & CallOptions): Promise<EventsPage>;
  stats(query: StatsQuery & CallOptions): Promise<Counted>;
  states(atMs: number, options?: CallOptions): Promise<PastStates>;
  incidentGroups(query: IncidentGroupsQuery & CallOptions): Promise<IncidentGroups>;
}

/** A recording: its time is over, and it has nothing to act on. */
export interface Recorded extends EventSource {
  range: Bounds & { fromMs: number; toMs: number };
}

/** The recording that the page shows; undefined: the service. */
export const recorded = signal<Recorded | undefined>(undefined);
