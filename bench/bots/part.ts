import { type Bound, type Metric, ratioMetric, type TimedPlan } from '../harness/bench.js';
import { BARE, BARE_AGAIN, SUBJECT } from './hosts.js';

export const BOTS = 10_000;

/** `rounds` are on running servers. */
export interface Plan extends TimedPlan {
  /** Rounds with new processes. */
  crowdRounds: number;
  idleMs: number;
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
  return ratioMetric({ id, subject: values(SUBJECT), control, noise, better, target });
}
