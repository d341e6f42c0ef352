// One measurement of many idle bots: memory per bot, start and restart rate, idle CPU.

import { setTimeout as delay } from 'node:timers/promises';
import { type BotsHost, createBots, ServiceHost } from './hosts.js';

/** Created first, so that one-time costs are not counted. */
const FIRST = 200;

export interface CrowdPlan {
  bots: number;
  idleMs: number;
}

export interface CrowdMeasurement {
  /** In bytes for each bot. */
  pss: number;
  rss: number;
  /** The whole process with all bots, in bytes. */
  totalPss: number;
  startsPerS: number;
  cpuUsPerStart: number;
  hostThreads: number;
  /** Idle CPU in percent of one core. */
  idleCpu: number;
  restored: Restored | undefined;
}

/** The restart of the service with its bots. */
interface Restored {
  /** Bots per second, from the time at which a service without bots would listen. */
  perS: number;
  /** The whole process afterwards, in bytes. */
  totalPss: number;
}

/** Measures a newly started host, and stops it. */
export async function measureCrowd(
  started: BotsHost,
  { bots, idleMs }: CrowdPlan,
): Promise<CrowdMeasurement> {
  let host = started;
  let emptyMs = 0;
  try {
    if (started instanceof ServiceHost) {
      const again = await started.restart();
      host = again;
      // The first start may read its files from the disk. A slow empty start would count as a fast return of the bots.
      emptyMs = Math.min(started.drover.startMs, again.drover.startMs);
    }
    await createBots(host, 0, FIRST);
    await host.untilReady(FIRST);
    await host.exercise();
    const before = await host.server.settledMemory();

    const { use } = await host.server.cpuDuring(() => createBots(host, FIRST, bots));
    const hostThreads = await host.untilReady(bots + FIRST);
    await host.exercise();
    const after = await host.server.settledMemory();
    const idle = await host.server.cpuDuring(() => delay(idleMs));

    let restored: Restored | undefined;
    if (host instanceof ServiceHost) {
      const again = await host.restart();
      host = again;
      const listened = performance.now();
      await again.untilReady(bots + FIRST);
      const readyMs = again.drover.startMs + performance.now() - listened;
      const { pss } = await again.server.settledMemory();
      restored = { perS: (bots + FIRST) / ((readyMs - emptyMs) / 1e3), totalPss: pss };
    }
    return {
      pss: (after.pss - before.pss) / bots,
      rss: (after.rss - before.rss) / bots,
      totalPss: after.pss,
      startsPerS: bots / (use.wallNs / 1e9),
      cpuUsPerStart: use.cpuNs / 1e3 / bots,
      hostThreads,
      idleCpu: (idle.use.cpuNs / idle.use.wallNs) * 100,
      restored,
    };
  } finally {
    await host.stop();
  }
}
