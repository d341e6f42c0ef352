import type { Metric } from '../harness/bench.js';
import { type Measurements, series } from '../harness/rounds.js';
import { summarize } from '../harness/stats.js';
import { whole } from '../harness/table.js';
import type { StreamMeasurement, StreamWork } from '../streams/measurement.js';

export interface Plan {
  rounds: number;
  seconds: number;
  warmUpSeconds: number;
}

/** Share of what is due that must arrive in time, in %. */
const DELIVERED = 99;

export function titleOf(
  name: string,
  { streams, load }: Pick<StreamWork, 'streams' | 'load'>,
  plan: Plan,
): string {
  return `fanout, ${name}: ${whole(streams)} streams x ${whole(load.rate)} events/s (${plan.rounds} rounds of ${plan.seconds} s)`;
}

/** How much of what was due a contender delivered. */
export function shareMetric(
  id: string,
  measured: Measurements<StreamMeasurement>,
  name: string,
): Metric {
  const spread = summarize(series(measured, name, (one) => one.shareOfOffer * 100));
  return { id, value: spread.median, unit: '%', spread, target: { min: DELIVERED } };
}
