// The messages between the bench process and load/paced.ts.

/** Requests at a fixed rate. */
export interface PacedJob {
  /** Http or https; any certificate is trusted. */
  url: string;
  /** Requests per second, over all connections. */
  rate: number;
  connections: number;
  durationMs: number;
}

/** Latencies from the request to the last byte of its response. */
export interface PacedResult {
  requests: number;
  /** Requests that were due while all connections waited for a response. Their latency counts from that time. */
  late: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}
