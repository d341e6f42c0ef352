// Imported by the fronts, the broadcaster and main. Owns which cell of a block of counters stands for what.

import { ERRORS } from '../errors.js';
import { KINDS, LEVELS } from './event-kinds.js';
import type { JournalStatus } from './journal-messages.js';

/** Upper bounds of the buckets for how long a pass over a front's streams takes, in s. */
export const FLUSH_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5];

/** Statuses that are counted by themselves; any other one under 0. */
export const STATUSES: readonly number[] = [
  0,
  ...new Set([200, 201, 204, 304, ...Object.values(ERRORS).map(({ status }) => status)]),
];
const PLACE_OF_STATUS = new Uint8Array(600);
for (const [place, status] of STATUSES.entries()) PLACE_OF_STATUS[status] = place;

/** Cells of a front. */
export const FRONT = {
  frames: 0,
  bytes: 1,
  writes: 2,
  gaps: 3,
  evictions: 4,
  /** Streams that take nothing now. */
  blocked: 5,
  wrongPins: 6,
  flush: 7,
  http: 7 + FLUSH_BOUNDS.length + 2,
} as const;

/** Cells of the broadcaster: frames of each kind of event, lines of each level, and its waits. */
export const BROADCASTER = {
  kinds: 0,
  levels: KINDS.length,
  waits: KINDS.length + LEVELS.length,
  cells: KINDS.length + LEVELS.length + 1,
} as const;

/** Cell of a front for the answers of one route with one status. Routes are numbered from 0 on. */
export function httpCell(route: number, status: number): number {
  return FRONT.http + route * STATUSES.length + (PLACE_OF_STATUS[status] ?? 0);
}

/** Cells of a block, for so many routes. */
export function blockCells(routes: number): number {
  return FRONT.http + routes * STATUSES.length;
}

/** What main counts and measures, for `GET /metrics`. */
export interface MainMetrics {
  /** Restarts of bots by the service, by kind: of each that is loaded. */
  restarts: Record<string, number>;
  /** Incidents by type, each of them. */
  incidents: Record<string, number>;
  /** Names of the threads whose loops are measured, in the order of their blocks. */
  loops: string[];
  /** How long threads have worked since they were started, in s. */
  busy: { thread: string; seconds: number }[];
  /** Fill of the fullest bot host's queue to the broadcaster, as a share. */
  queue: number;
  /** Threads that run bots. */
  hosts: number;
  tokens: number;
  journal: JournalStatus;
}
