// Publish to receive: a bot on one node, and a client of each node that reads everything and checks that nothing is missing.

import { setTimeout as delay } from 'node:timers/promises';
import { FRAME_START } from '../../src/shared/stream/frame.js';
import { MESSAGE_BYTES } from '../fanout/loads.js';
import { Swarm } from '../streams/swarm.js';
import type { BenchCluster } from './cluster.js';

const RATE = 1000;
const SETTLE_MS = 2000;
const DRAIN_WITHIN_MS = 10_000;
const ID = 'latency';

export interface Latency {
  /** Whose client it was. */
  name: string;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  frames: number;
}

/** The first is the control: the own stream of the node that runs the bot. */
export async function measureLatency({ nodes }: BenchCluster, seconds: number): Promise<Latency[]> {
  const [asked] = nodes;
  if (!asked) throw new Error('there is no node');
  const groups = [
    { name: `${asked.server.name}, own stream`, node: asked, own: '&node=self' },
    ...nodes.map((node) => ({ name: node.server.name, node, own: '' })),
  ];
  const swarm = await Swarm.start(groups.length);
  try {
    for (const { name, node, own } of groups) {
      const { authorization } = node;
      const path = `/events?snapshot=0${own}`;
      const target = { url: node.server.url, path, authorization, frameStart: FRAME_START };
      await swarm.open(name, target, 1);
      await swarm.mark(name, 1);
    }
    const config = { events_per_second: RATE, message_bytes: MESSAGE_BYTES };
    await asked.createBot(ID, 'synthetic', config, { node: asked.server.name });
    await delay(SETTLE_MS);
    for (const { name } of groups) await swarm.begin(name);
    await delay(seconds * 1000);
    await asked.deleteBot(ID);
    await asked.ping();
    const measured: Latency[] = [];
    for (const { name } of groups) {
      const { latencies, sampleFrames, gaps, closed } = await swarm.drain(name, DRAIN_WITHIN_MS);
      if (gaps > 0 || closed > 0) throw new Error(`${name}: ${gaps} gaps, ${closed} ended streams`);
      if (sampleFrames < RATE * seconds) throw new Error(`${name}: only ${sampleFrames} frames`);
      measured.push({
        name,
        p50Ms: latencies.percentileMs(50),
        p99Ms: latencies.percentileMs(99),
        maxMs: latencies.maxMs,
        frames: sampleFrames,
      });
    }
    return measured;
  } finally {
    await swarm.stop();
  }
}
