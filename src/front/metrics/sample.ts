// Pure; used by the fronts. Owns what one answer of GET /metrics is made of.

import type { MainMetrics } from '../../shared/contract/metric-layout.js';
import type { ProcessMetrics } from './process-metrics.js';

/** Counts of the buckets of a histogram, the last above all bounds, and the sum. */
export interface Buckets {
  bounds: readonly number[];
  counts: readonly number[];
  sum: number;
}

export interface Sample {
  main: MainMetrics;
  process: ProcessMetrics;
  bots: readonly { kind: string; status: string; count: number }[];
  /** Frames on the ring since the start, by kind of event. */
  events: readonly { name: string; count: number }[];
  lines: readonly { name: string; count: number }[];
  ring: { frames: number; bytes: number; capacity: number; waits: number };
  streams: {
    open: number;
    blocked: number;
    frames: number;
    bytes: number;
    writes: number;
    gaps: number;
    evictions: number;
    /** How long passes took, in s. */
    flush: Buckets;
  };
  pin: { failures: number; lockedForS: number };
  connections: number;
  requests: readonly { method: string; route: string; status: string; count: number }[];
  lags: readonly ({ thread: string } & Buckets)[];
}
