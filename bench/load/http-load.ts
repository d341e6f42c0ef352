// Imported by the bench process and by load/autocannon.ts. Owns the messages between the two.

/** One stretch of load on one address. */
export interface HttpLoadJob {
  url: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  /** Each with one request under way at a time. */
  connections: number;
  durationS: number;
}

export interface HttpLoadResult {
  /** Whole responses, with any status. */
  requests: number;
  /** From the first connection to the end, in s. */
  wallS: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Answers by status code. */
  statuses: Record<string, number>;
  /** Bytes of the shortest and longest answer, headers included. */
  minBytes: number;
  maxBytes: number;
  /** Broken connections and requests without an answer. */
  errors: number;
  /** The generator's own CPU time, and its time ready to run with no core free, as shares of the wall time. */
  ownCpu: number;
  ownWait: number;
}

/** From here on the generator is taken to be the bottleneck: the request rate is its own, not the server's. */
const LIMIT = 0.95;

/** One core is all that a single-threaded generator can use; what it waited for a core, it wanted to use. */
export function generatorAtItsLimit(result: Pick<HttpLoadResult, 'ownCpu' | 'ownWait'>): boolean {
  return result.ownCpu + result.ownWait >= LIMIT;
}
