// The usage of bots: names of its fields, and the reports of bot hosts. Loads no TypeBox: the schemas are in
// event-schemas.ts and bots.ts.

/** The fields of a bot's usage, and of its quota. */
export const USAGE_NAMES = [
  'cpu',
  'memory_mb',
  'lines_per_second',
  'bytes_per_second',
  'connections',
] as const;
export type UsageName = (typeof USAGE_NAMES)[number];

/** The usage of one run since the last report of its host. */
export interface RunUse {
  run: number;
  /** How long its code ran, in ms. */
  cpuMs: number;
  /** Published lines, and the bytes of their messages. */
  lines: number;
  bytes: number;
}

/**
 * A report of a bot host. Its lists are flat: a host may have 10,000 bots, and objects cost both threads several times as much to
 * copy. Bounded by the runs of the host.
 */
export interface UsageReport {
  /** How long ago the first of that was, in ms. */
  ms: number;
  /** The values of {@link RunUse} in that order, of each run that has used anything. */
  uses: number[];
  /** Run and count of each run with open connections; null when they were not counted this time. */
  connections: number[] | null;
  /** Run and bytes of each run with child processes; null when it is as it was. */
  memory: number[] | null;
}

/** @param flat as in {@link UsageReport.uses}. */
export function* runUses(flat: readonly number[]): Generator<RunUse> {
  for (let at = 0; at + 3 < flat.length; at += 4) {
    const [run = 0, cpuMs = 0, lines = 0, bytes = 0] = flat.slice(at, at + 4);
    yield { run, cpuMs, lines, bytes };
  }
}
