// The largest part of the fan-out bench: whether 10,000 streams get everything.

import { setTimeout as delay } from 'node:timers/promises';
import type { Metric } from '../harness/bench.js';
import type { Progress } from '../harness/progress.js';
import { type Table, whole } from '../harness/table.js';
import { droverFeed } from './feeds.js';
import { groupOf, measureStreams, type StreamMeasurement } from './measurement.js';
import { MixedSwarm } from './mixed-swarm.js';
import { streamTable } from './stream-table.js';

const STREAMS = 10_000;
const RATE = 1_000;
const SAMPLE = 5;
const MEMORY_EVERY_MS = 250;
const MOST_MEMORY_MB = 300;
const MB = 1e6;

export interface LargeResult {
  metrics: Metric[];
  table: Table;
  measurement: StreamMeasurement & { peakRssMb: number; pssMb: number };
}

export async function runLarge(
  seconds: number,
  messageBytes: number,
  progress: Progress,
): Promise<LargeResult> {
  progress.step(`fanout, large: opening ${whole(STREAMS)} streams`);
  const feed = await droverFeed();
  const swarm = await MixedSwarm.start(1);
  try {
    await swarm.open(groupOf(feed), feed.target, STREAMS);
    progress.step(`fanout, large: ${seconds} s of load`);
    const work = {
      streams: STREAMS,
      load: { rate: RATE, messageBytes, form: 'batched' as const },
      seconds,
      warmUpSeconds: 0,
      sample: SAMPLE,
    };
    const measured = await measureStreams(feed, swarm, work, seconds, () =>
      mostPss(() => feed.server.memory().pss, seconds),
    );
    const { meanwhile: pss = Number.NaN, ...measurement } = measured;
    const peakRssMb = feed.server.memory().peakRss / MB;
    const pssMb = pss / MB;
    return {
      measurement: { ...measurement, peakRssMb, pssMb },
      metrics: [
        {
          id: 'large/lost',
          value: measurement.lost + measurement.gaps,
          unit: '',
          target: { max: 0 },
        },
        { id: 'large/evicted', value: measurement.closed, unit: '', target: { max: 0 } },
        { id: 'large/delivered', value: measurement.shareOfOffer * 100, unit: '%' },
        { id: 'large/memory', value: peakRssMb, unit: 'MB', target: { max: MOST_MEMORY_MB } },
      ],
      table: streamTable(
        `fanout, large: ${whole(STREAMS)} streams x ${whole(RATE)} events/s, ${seconds} s`,
        new Map([[feed.name, [measurement]]]),
        [
          `Memory: ${whole(peakRssMb)} MB resident at most, ${whole(pssMb)} MB PSS at most, the ring included.`,
          `All ${whole(STREAMS)} streams had the same bytes to the last; ${SAMPLE} of them were parsed.`,
        ],
      ),
    };
  } finally {
    await swarm.stop();
    await feed.close();
  }
}

async function mostPss(read: () => number, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let most = 0;
  while (performance.now() < end) {
    most = Math.max(most, read());
    await delay(MEMORY_EVERY_MS);
  }
  return most;
}
