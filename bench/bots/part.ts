import { type Bound, type Metric, ratioMetric } from '../harness/bench.js';
import type { Table } from '../harness/table.js';
import { BARE, BARE_AGAIN, SUBJECT } from './hosts.js';

export const BOTS = 10_000;

export interface Plan {
  /** Rounds on running servers. */
  rounds: number;
  seconds: number;
  warmUpSeconds: number;
  /** Rounds with new processes. */
  crowdRounds: number;
  idleMs: number;
  /** Whether to measure also with a connection per bot. */
  connected: boolean;
}

/** The result of one part. */
export interface Part {
  metrics: Metric[];
  tables: Table[];
  measurements: Record<string, unknown>;
}

/** @param values by contender, one per round. */
export function ratioToBare(
  id: string,
  better: 'more' | 'less',
  values: (name: string) => number[],
  target?: Bound,
): Metric {
  const control = values(BARE);
  const noise = { first: control, again: values(BARE_AGAIN) };
  const subject = values(SUBJECT);
  return ratioMetric({ id, subject, control, noise, better, ...(target && { target }) });
}
