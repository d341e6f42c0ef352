// Imported by main and the fronts. Owns what is said of how near the service is to its bounds.

import type { JournalStatus } from './journal.js';

/** What can be short. */
export const RESOURCES = ['cpu', 'memory', 'streams', 'queue', 'bots'] as const;
export type Resource = (typeof RESOURCES)[number];

/** Body of `GET /api/pressure`. */
export interface PressureReport {
  /** Bots that run. */
  running: number;
  /** Bots that there may be. */
  capacity: number;
  /** What is short; new streams or new bots are refused while something is. */
  short: Resource[];
  /** Busiest of the fronts and the broadcaster: how much of its time it has worked lately, 0 to 1. */
  cpu: { used: number; limit: number };
  /** Resident memory of the process. */
  memory: { used_bytes: number; limit_bytes: number };
  streams: { open: number; limit: number };
  /** Fullest bot host: bytes of events on their way to the broadcaster, as a share of `hosts.in_flight_bytes`. */
  queue: { used: number; limit: number };
  /** Bots that there are. */
  bots: { present: number; limit: number };
  /** Whether events are kept: `off`, `opening`, `on`, or `failed` with the reason. Nothing is refused for it. */
  journal: Pick<JournalStatus, 'state' | 'reason'>;
}

/** Why something new is refused. */
export interface Shortage {
  resource: Resource;
  /** For the answer. */
  message: string;
}
