// NATS is frozen under load for longer than the rings last. How long until all nodes have all events, while bots keep writing.

import { setTimeout as delay } from 'node:timers/promises';
import type { Progress } from '../harness/progress.js';
import { type BenchCluster, NODES } from './cluster.js';
import { expectAll, positionsOf } from './positions.js';

const CATCH_UP_WITHIN_MS = 180_000;
const SETTLE_MS = 2000;
/** A ring of {@link OUTAGE_RING_BYTES} is over after about 5 s of {@link PER_BOT} events/s. */
export const OUTAGE_RING_BYTES = 16 * 1024 * 1024;
const PER_BOT = 15_000;

export interface Outage {
  /** Offered by the bots, before, during and after. */
  eventsPerS: number;
  outageS: number;
  /** From the end of the outage until the last node had an event of that moment. */
  catchUpMs: number;
  events: number;
}

export async function measureOutage(
  cluster: BenchCluster,
  outageS: number,
  progress: Progress,
): Promise<Outage> {
  const [asked] = cluster.nodes;
  const [server] = cluster.nats;
  if (!asked || server?.pid === undefined) throw new Error('the cluster is not whole');
  const before = await positionsOf(cluster.nodes, CATCH_UP_WITHIN_MS);
  const bots = new Map(NODES.map((node) => [`talk-${node}`, node]));
  await asked.forEach([...bots.keys()], (id) =>
    // Bots of other placements would stop with the lease.
    asked.createBot(
      id,
      'bench-talk',
      { events_per_second: PER_BOT },
      { node: bots.get(id), failover: 'stay' },
    ),
  );
  await delay(SETTLE_MS);
  progress.step(`cluster: NATS frozen for ${outageS} s`);
  process.kill(server.pid, 'SIGSTOP');
  try {
    await delay(outageS * 1000);
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
  progress.step('cluster: catching up');
  const { lagMs } = await positionsOf(cluster.nodes, CATCH_UP_WITHIN_MS);
  await asked.forEach([...bots.keys()], (id) => asked.deleteBot(id));
  const events = expectAll(before, await positionsOf(cluster.nodes, CATCH_UP_WITHIN_MS));
  return { eventsPerS: PER_BOT * NODES.length, outageS, catchUpMs: lagMs, events };
}
