// Measures one service at growing numbers of streams or bots.

import { setTimeout as delay } from 'node:timers/promises';
import { createBots, ServiceHost } from '../bots/hosts.js';
import { compile } from '../harness/compile.js';
import { Drover, fullOf } from '../harness/drover.js';
import { LoadProcess } from '../harness/load.js';
import {
  cpuBetween,
  type KernelMemory,
  type MemorySample,
  sampleKernelMemory,
} from '../harness/os-accounting.js';
import { benchSource } from '../harness/paths.js';
import type { Server } from '../harness/server.js';
import { Swarm } from '../streams/swarm.js';

/** A service with so many streams or bots. */
export interface Point {
  count: number;
  memory: MemorySample;
  /** Of the whole system, with the clients' ends of the connections. */
  kernel: KernelMemory;
  /** CPU time per second of time, in µs. */
  cpu: number;
}

const LOOK_AGAIN_MS = 500;
const LOOKS = 12;
/** Streams that are opened at a time. */
const STREAMS_AT_ONCE = 1_000;
/** Blocked streams stay during the whole measurement. */
const STALL_MS = 3_600_000;
/** Fills the buffers of the kernel and of the service for each blocked client: 64 KiB are enough with small segments. */
const FLOOD = { events_per_second: 2_000, message_bytes: 1_000 };
const FLOOD_MS = 1_000;
/** More than the ring holds. */
const WARM_UP = { events_per_second: 100_000, message_bytes: 300 };
const WARM_UP_MS = 3_000;
/** Lines on the stream while the CPU time of blocked streams is measured. */
const LINES = { events_per_second: 100, message_bytes: 100 };
const WITHIN_MS = 120_000;
const MOST_BOTS = 21_000;

/** Streams without an event; heartbeats come every 15 s, so `seconds` should be that or a multiple. */
export async function idleStreams(counts: readonly number[], seconds: number): Promise<Point[]> {
  const drover = await startFor(Math.max(...counts));
  const swarm = await Swarm.start(Math.max(...counts));
  const { server, authorization } = drover;
  const target = { url: server.url, path: '/events?snapshot=0', authorization, frameStart: 'id: ' };
  try {
    await warmUp(drover);
    let open = 0;
    return await pointsAt(counts, server, seconds, async (count) => {
      for (; open < count; open += STREAMS_AT_ONCE) {
        const more = Math.min(STREAMS_AT_ONCE, count - open);
        const { closed } = await swarm.open(`from ${open}`, target, more);
        if (closed > 0) throw new Error(`the service ended ${closed} idle streams`);
      }
      open = count;
    });
  } finally {
    await swarm.stop();
    await drover.stop();
  }
}

/** Streams whose clients read nothing, beside a few lines a second. */
export async function blockedStreams(counts: readonly number[], seconds: number): Promise<Point[]> {
  const drover = await startFor(Math.max(...counts));
  const { server, authorization } = drover;
  const { hostname, port } = new URL(server.url);
  const clients = await LoadProcess.start<string, { opened: number; closed: number }>(
    'blocked clients',
    compile(benchSource('load/blocked-clients.c')),
    [hostname, port, '/events?snapshot=0', authorization],
  );
  try {
    await warmUp(drover);
    let open = 0;
    const points = await pointsAt(counts, server, seconds, async (count) => {
      await clients.run(`open ${count - open}`, WITHIN_MS);
      open = count;
      await drover.createSyntheticBot(`flood-${count}`, FLOOD);
      await delay(FLOOD_MS);
      await drover.deleteBot(`flood-${count}`);
      if (count === counts[0]) await drover.createSyntheticBot('lines', LINES);
      const blocked = await untilBlocked(drover, count);
      if (blocked < count) throw new Error(`${blocked} of ${count} streams are blocked`);
    });
    const { closed } = await clients.run('report', WITHIN_MS);
    if (closed > 0) throw new Error(`the service ended ${closed} blocked streams`);
    return points;
  } finally {
    await clients.stop();
    await drover.stop();
  }
}

/** Idle bots of the bench's own kind, without connections. */
export async function idleBots(counts: readonly number[], seconds: number): Promise<Point[]> {
  const host = await ServiceHost.start({ pressure: { max_bots: MOST_BOTS } });
  try {
    await host.exercise();
    let created = 0;
    return await pointsAt(counts, host.server, seconds, async (count) => {
      await createBots(host, created, count - created);
      created = count;
      await host.untilReady(count);
      // Its lines cause garbage collections: what is left is in use.
      await host.exercise();
    });
  } finally {
    await host.stop();
  }
}

async function pointsAt(
  counts: readonly number[],
  server: Server,
  seconds: number,
  reach: (count: number) => Promise<void>,
): Promise<Point[]> {
  const points: Point[] = [];
  for (const count of counts) {
    await reach(count);
    await server.settledMemory();
    const before = server.sampleCpu();
    await delay(seconds * 1_000);
    const { cpuNs, wallNs } = cpuBetween(before, server.sampleCpu());
    points.push({
      count,
      memory: server.memory(),
      kernel: sampleKernelMemory(),
      cpu: (cpuNs / wallNs) * 1e6,
    });
  }
  return points;
}

/** Fills the ring, and has the code compiled and the garbage of the start collected. */
async function warmUp(drover: Drover): Promise<void> {
  await drover.createSyntheticBot('warm-up', WARM_UP);
  await delay(WARM_UP_MS);
  await drover.deleteBot('warm-up');
}

function startFor(streams: number): Promise<Drover> {
  const settings = fullOf(streams);
  return Drover.start('drover', {
    ...settings,
    stream: { ...settings.stream, stall_ms: STALL_MS },
  });
}

/** Waits until the service counts so many blocked streams. @returns how many there are. */
async function untilBlocked(drover: Drover, count: number): Promise<number> {
  let blocked = 0;
  for (let attempt = 0; attempt < LOOKS && blocked < count; attempt++) {
    await delay(LOOK_AGAIN_MS);
    blocked = await drover.metric('drover_streams_blocked');
  }
  return blocked;
}
