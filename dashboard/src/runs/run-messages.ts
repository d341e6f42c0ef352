// The messages between the page and the worker of a run.

import type {
  EventsPage,
  EventsQuery,
  IncidentGroups,
  IncidentGroupsQuery,
  PastStates,
  StatsQuery,
} from '../../../src/client/index.js';
import type { Counted } from '../model/event-source.js';
import type { Said } from './note.js';
import type { Part, RunFacts } from './run-facts.js';

/** The requests of the page with their answers. Several can be pending at once. */
export interface RunCalls {
  open: (file: Blob) => RunFacts;
  /** Ends the searches. What they have found stays. */
  stop: () => void;
  /** Restarts each search when it is next requested. */
  again: () => void;
  events: (query: EventsQuery) => EventsPage;
  stats: (query: StatsQuery) => Counted;
  states: (atMs: number) => PastStates;
  incidentGroups: (query: IncidentGroupsQuery) => IncidentGroups;
}

export type RunCall = keyof RunCalls;

export interface ToRun {
  id: number;
  call: RunCall;
  args: unknown[];
}

export type FromRun =
  | { id: number; part: Part }
  | { id: number; value: unknown }
  | { id: number; error: Said };
