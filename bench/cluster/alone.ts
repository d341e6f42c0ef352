// A single service beside one of the code before the cluster: the cluster must cost it nothing.

import { setTimeout as delay } from 'node:timers/promises';
import { MESSAGE_BYTES } from '../fanout/loads.js';
import { Drover } from '../harness/drover.js';
import { DIST } from '../harness/paths.js';
import type { Progress } from '../harness/progress.js';
import { type Contender, type Measurements, runRounds } from '../harness/rounds.js';
import { ringRate } from '../streams/ring-rate.js';

export const NOW = 'this build';
export const NOW_AGAIN = 'this build again';
export const BEFORE = 'before';
/** More than a bot can send. */
const FLAT_OUT = 10_000_000;
const IDLE_MS = 2000;

export interface Alone {
  startMs: number;
  idlePssMb: number;
  cpuUsPerEvent: number;
}

export function measureAlone(
  before: URL,
  plan: { rounds: number; seconds: number },
  progress: Progress,
): Promise<Measurements<Alone>> {
  const contender = (name: string, build: URL): Contender<Alone> => ({
    name,
    warmUp: async () => void (await measure(build, 0.2)),
    measure: () => measure(build, plan.seconds),
  });
  const contenders = [contender(NOW, DIST), contender(BEFORE, before), contender(NOW_AGAIN, DIST)];
  return runRounds('cluster, a single service', contenders, plan.rounds, progress);
}

async function measure(build: URL, seconds: number): Promise<Alone> {
  const began = performance.now();
  const settings = {
    hosts: { count: 1, bot_lines_per_second: 0 },
    pressure: { max_cpu: 1, max_queue: 1 },
  };
  const drover = await Drover.start('drover', settings, { build });
  try {
    const startMs = performance.now() - began;
    await delay(IDLE_MS);
    const idlePssMb = drover.server.memory().pss / 1e6;
    const config = { events_per_second: FLAT_OUT, message_bytes: MESSAGE_BYTES };
    const bot = {
      start: () => drover.createSyntheticBot('flat-out', config),
      stop: () => drover.deleteBot('flat-out'),
    };
    const { cpuUsPerEvent } = await ringRate(drover, bot, () => delay(seconds * 1000));
    return { startMs, idlePssMb, cpuUsPerEvent };
  } finally {
    await drover.stop();
  }
}
