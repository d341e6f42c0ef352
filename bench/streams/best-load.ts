// Finds the load at which a server delivers the most frames per CPU second.

import { whole } from '../harness/table.js';
import type { Feed, StreamLoad } from './feeds.js';
import { type Clients, measureStreams, type StreamWork } from './measurement.js';

/** Tried rates in events per second: one per tick, and bursts of three, already more than one core can handle. */
const RATES = [100, 300];

/** Tries each rate with single writes, the documented use of the library. */
export async function bestLoad(
  feed: Feed,
  swarm: Clients,
  work: StreamWork,
  seconds: number,
): Promise<{ load: StreamLoad; note: string }> {
  let best = { load: work.load, framesPerCpuS: 0 };
  const tried: string[] = [];
  // Warm-up.
  const loadOf = (rate: number): StreamLoad => ({ ...work.load, rate, form: 'unbatched' });
  await measureStreams(feed, swarm, { ...work, load: loadOf(RATES[0] ?? 100) }, seconds);
  for (const rate of RATES) {
    const load = loadOf(rate);
    const { framesPerCpuS } = await measureStreams(feed, swarm, { ...work, load }, seconds);
    tried.push(`${whole(rate)}/s: ${whole(framesPerCpuS)}`);
    if (framesPerCpuS > best.framesPerCpuS) best = { load, framesPerCpuS };
  }
  return {
    load: best.load,
    note: `${whole(best.load.rate)} events/s, its best (frames/CPU s by events offered: ${tried.join(', ')})`,
  };
}
