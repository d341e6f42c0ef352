import type { MainMetrics } from '../../shared/contract/metric-layout.js';
import type { ProcessMetrics } from './process-metrics.js';

/** A histogram: counts per bucket, the last one above all bounds, and the sum. */
export interface Buckets {
  bounds: readonly number[];
  counts: readonly number[];
  sum: number;
}

/** The data of one response of `GET /metrics`. */
export interface Sample {
  main: MainMetrics;
  process: ProcessMetrics;
  bots: readonly { kind: string; status: string; count: number }[];
  /** Frames on the ring since the start, by kind of event. */
  events: readonly { name: string; count: number }[];
  lines: readonly { name: string; count: number }[];
  ring: { frames: number; bytes: number; capacity: number; waits: number };
  /** Null in a single service. */
  clusterRing: { frames: number; bytes: number; capacity: number } | null;
  streams: {
    open: number;
    blocked: number;
    frames: number;
    bytes: number;
    writes: number;
    gaps: number;
    evictions: number;
    /** Durations of passes, in s. */
    flush: Buckets;
  };
  pin: { failures: number; lockedForS: number };
  connections: number;
  requests: readonly { method: string; route: string; status: string; count: number }[];
  lags: readonly ({ thread: string } & Buckets)[];
}
