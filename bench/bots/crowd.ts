// One measurement of many idle bots: memory per bot, start and restart rate, idle CPU.

import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { MemorySample } from '../harness/os-accounting.js';
import type { Server } from '../harness/server.js';
import { type BotsHost, ServiceHost } from './hosts.js';

/** Created first, so that one-time costs are not counted. */
const FIRST = 200;
/** Memory has settled if it changes by less than this within this time in ms. */
const SETTLED_BYTES = 512 * 1024;
const SETTLE_MS = 1_000;
const SETTLE_ATTEMPTS = 12;
/** The listen backlog: all bots connect at once. */
const BACKLOG = 16_384;

export interface CrowdPlan {
  bots: number;
  /** Whether each bot has a TCP connection, like a demo bot. */
  connected: boolean;
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
  { bots, connected, idleMs }: CrowdPlan,
): Promise<CrowdMeasurement> {
  let host = started;
  const far = connected ? await FarEnd.listen() : undefined;
  const port = far?.port ?? 0;
  let emptyMs = 0;
  try {
    if (started instanceof ServiceHost) {
      const again = await started.restart();
      host = again;
      // The first start may read its files from the disk. A slow empty start would count as a fast return of the bots.
      emptyMs = Math.min(started.startMs, again.startMs);
    }
    await host.api.createBots(0, FIRST, port);
    await host.untilReady(FIRST);
    await host.exercise();
    const before = await settledMemory(host.server);

    const { use } = await host.server.cpuDuring(() => host.api.createBots(FIRST, bots, port));
    const hostThreads = await host.untilReady(bots + FIRST);
    await host.exercise();
    const after = await settledMemory(host.server);
    const idle = await host.server.cpuDuring(() => delay(idleMs));

    let restored: Restored | undefined;
    if (host instanceof ServiceHost) {
      const again = await host.restart();
      host = again;
      const listened = performance.now();
      await again.untilReady(bots + FIRST);
      const readyMs = again.startMs + performance.now() - listened;
      const { pss } = await settledMemory(again.server);
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
    far?.close();
  }
}

/** Memory after it has settled: freed memory is returned with a delay. */
async function settledMemory(server: Server): Promise<MemorySample> {
  let last = server.memory();
  for (let attempt = 0; attempt < SETTLE_ATTEMPTS; attempt++) {
    await delay(SETTLE_MS);
    const now = server.memory();
    if (Math.abs(now.pss - last.pss) < SETTLED_BYTES) return now;
    last = now;
  }
  return last;
}

/** The server that the bots connect to: it accepts connections and stays silent. */
class FarEnd {
  readonly port: number;
  readonly #server: NetServer;
  readonly #sockets: Set<Socket>;

  private constructor(server: NetServer, sockets: Set<Socket>) {
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
    this.#sockets = sockets;
  }

  static listen(): Promise<FarEnd> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
      // Read, to notice the end of the connection.
      socket.resume();
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: '127.0.0.1', port: 0, backlog: BACKLOG }, () =>
        resolve(new FarEnd(server, sockets)),
      );
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
