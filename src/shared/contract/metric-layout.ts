// The layout of a block of counters: which metric is in which cell.

import { ERRORS } from '../errors.js';
import { KINDS, LEVELS } from './event-kinds.js';
import type { JournalStatus } from './journal-messages.js';
import type { ClusterNode } from './nodes.js';
import type { Severity } from './rule-bounds.js';

/** Upper bounds of the buckets for how long a pass over a front's streams takes, in s. */
export const FLUSH_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5];

/** HTTP statuses with their own counter; all others are counted under 0. */
export const STATUSES: readonly number[] = [
  0,
  ...new Set([200, 201, 202, 204, 304, ...Object.values(ERRORS).map(({ status }) => status)]),
];
const INDEX_OF_STATUS = new Uint8Array(600);
for (const [index, status] of STATUSES.entries()) INDEX_OF_STATUS[status] = index;

/** Cells of a front's block. */
export const FRONT_CELLS = {
  frames: 0,
  bytes: 1,
  writes: 2,
  gaps: 3,
  evictions: 4,
  /** Streams with backpressure now. */
  blocked: 5,
  wrongPins: 6,
  flush: 7,
  http: 7 + FLUSH_BOUNDS.length + 2,
} as const;

/** Cells of the broadcaster's block: frames by kind, lines by level, and waits for readers. */
export const BROADCASTER_CELLS = {
  kinds: 0,
  levels: KINDS.length,
  waits: KINDS.length + LEVELS.length,
  size: KINDS.length + LEVELS.length + 1,
} as const;

/** A front's cell for the responses of one route with one status. Routes are numbered from 0. */
export function responseCell(route: number, status: number): number {
  return FRONT_CELLS.http + route * STATUSES.length + (INDEX_OF_STATUS[status] ?? 0);
}

/** Size of a front's block for this many routes. */
export function blockCells(routes: number): number {
  return FRONT_CELLS.http + routes * STATUSES.length;
}

/** What the bots of a kind use together: cores, lines and bytes per second, open connections. */
export interface KindUsage {
  cpu: number;
  lines: number;
  bytes: number;
  connections: number;
}

/** How a node sees its cluster. */
export interface ClusterMetrics {
  /** Nodes by state. */
  nodes: Record<ClusterNode['state'], number>;
  isLeader: boolean;
  isOn: boolean;
  /** Events of this node that are not on the stream of the cluster yet. */
  unpublished: number;
  /** Blocks of that stream that this node has not read yet. */
  behind: number;
  /** Bots on its disk whose ids the cluster has for other bots. */
  leftovers: number;
  /** Buckets in which the NATS servers have diverged, as far as this node has found out: the leader looks. */
  diverged: number;
  /** Whether it can read the secrets of the cluster. */
  hasKey: boolean;
}

/** Main's metrics, for `GET /metrics`. */
export interface MainMetrics {
  /** Restarts of bots by the service, for each loaded kind. */
  restarts: Record<string, number>;
  /** Incidents, for each type. */
  incidents: Record<string, number>;
  /** Names of the threads whose loops are measured, in the order of their blocks; null for one that was not started yet. */
  loops: (string | null)[];
  /** Busy time of threads since their start, in s. */
  busy: { thread: string; seconds: number }[];
  /** Fill of the fullest bot host's queue to the broadcaster, as a share. */
  queue: number;
  /** Threads that run bots. */
  hosts: number;
  tokens: number;
  /** Usage by kind, for kinds whose bots use anything. */
  usage: Record<string, KindUsage>;
  rules: number;
  /** Rules that fire, by severity. */
  firing: Record<Severity, number>;
  journal: JournalStatus;
  /** Null in a single service. */
  cluster: ClusterMetrics | null;
}
