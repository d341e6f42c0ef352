// The loads of the fan-out benches.

import { type Metric, medianMetric, type TimedPlan } from '../harness/bench.js';
import { type Measurements, series } from '../harness/rounds.js';
import { type Table, whole } from '../harness/table.js';
import type { StreamMeasurement, StreamWork } from '../streams/measurement.js';

type Load = Pick<StreamWork, 'streams' | 'load' | 'sample'>;

const STREAMS = 1_000;
/** Gives a frame of about 220 bytes. */
export const MESSAGE_BYTES = 52;

export const BATCHED: Load = {
  streams: STREAMS,
  load: { rate: 10_000, messageBytes: MESSAGE_BYTES, form: 'batched' },
  sample: 3,
};
export const STEADY: Load = {
  streams: STREAMS,
  load: { rate: 1_000, messageBytes: MESSAGE_BYTES, form: 'batched' },
  sample: 10,
};
export const UNBATCHED: Load = {
  streams: STREAMS,
  load: { rate: 100, messageBytes: MESSAGE_BYTES, form: 'unbatched' },
  sample: 10,
};

/** Share of what is due that must arrive in time, in %. */
const DELIVERED = 99;

/** What a load on 1,000 streams measured, and what the bench shows of it. */
export interface LoadResult<M extends StreamMeasurement = StreamMeasurement> {
  measured: Measurements<M>;
  metrics: Metric[];
  tables: Table[];
}

export function titleOf(name: string, { streams, load }: Load, plan: TimedPlan): string {
  return `fanout, ${name}: ${whole(streams)} streams x ${whole(load.rate)} events/s (${plan.rounds} rounds of ${plan.seconds} s)`;
}

/** How much of what was due a contender delivered. */
export function shareMetric(
  id: string,
  measured: Measurements<StreamMeasurement>,
  name: string,
): Metric {
  const shares = series(measured, name, (one) => one.shareOfOffer * 100);
  return medianMetric(id, '%', shares, { min: DELIVERED });
}
