// The messages between the bench process and load/autocannon.ts.

/** One period of load on one address. */
export interface HttpLoadJob {
  url: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  /** Each with one request at a time. */
  connections: number;
  durationS: number;
}

export interface HttpLoadResult {
  /** Whole responses, with any status. */
  requests: number;
  /** Duration from the first connection, in s. */
  wallS: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Responses by status code. */
  statuses: Record<string, number>;
  /** Size of the smallest and largest response, with headers. */
  minBytes: number;
  maxBytes: number;
  /** Broken connections and requests without a response. */
  errors: number;
  /** The generator's own CPU time, and its time ready to run with no core free, as shares of the wall time. */
  ownCpu: number;
  ownWait: number;
}

/** Above this load the generator is considered the bottleneck: the rate is its own, not the server's. */
const LIMIT = 0.95;

/** A single-threaded generator can use one core; time spent waiting for a core counts as wanted. */
export function generatorAtItsLimit(result: Pick<HttpLoadResult, 'ownCpu' | 'ownWait'>): boolean {
  return result.ownCpu + result.ownWait >= LIMIT;
}
