// kill -9 of a node: how long until each of its bots runs on another one, as a server outside of the cluster sees it.

import { Witness } from '../../test/harness/witness.js';
import { ask } from '../harness/ask.js';
import type { BenchCluster } from './cluster.js';

const BOTS = 200;
const RUNNING_WITHIN_MS = 60_000;
/** A second connection of a bot would come by then. */
const WATCH_MS = 2000;

export interface Failover {
  bots: number;
  /** The node that was killed led the cluster. */
  wasLeader: boolean;
  leaseMs: number;
  /** From the kill until the last bot has said hello from another process. */
  allRunMs: number;
  /** From the kill until the first one has. */
  firstRunsMs: number;
}

/**
 * Ends a node. @param wasLeader the one that leads, and so another has to be elected before its bots start.
 * @throws Error when a bot was two at once, or does not come back.
 */
export async function measureFailover(
  cluster: BenchCluster,
  leaseMs: number,
  wasLeader: boolean,
): Promise<Failover> {
  const witness = await Witness.start();
  try {
    const leader = await cluster.leader();
    const victim = cluster.nodes.find((node) => (node === leader) === wasLeader);
    const nodes = cluster.nodes.filter((node) => node !== victim);
    const [asked] = nodes;
    if (!victim || !asked) throw new Error('several nodes are needed');
    const { authorization } = asked;
    const each = async (action: string): Promise<void> => {
      for (const { server } of nodes) {
        const path = `/api/nodes/${server.name}/${action}`;
        await ask(asked.server.url, path, { method: 'POST', authorization });
      }
    };
    // All bots are placed on the victim.
    await each('cordon');
    const ids = Array.from({ length: BOTS }, (_, n) => `witness-${n}`);
    const config = { port: witness.port };
    await asked.forEach(ids, (id) => asked.createBot(id, 'witness', config));
    const runsOn = (pid: number, wanted: boolean): number =>
      ids.filter((id) => {
        const own = witness.pidOf(id);
        return own !== undefined && (own === pid) === wanted;
      }).length;
    const { pid } = victim.server;
    const wait = (there: () => number, least: number): Promise<void> =>
      witness.until(
        () => there() >= least,
        () => `${least - there()} of ${BOTS} bots`,
        RUNNING_WITHIN_MS,
      );
    await wait(() => runsOn(pid, true), BOTS);
    await each('uncordon');
    const began = performance.now();
    await cluster.kill(victim);
    await wait(() => runsOn(pid, false), 1);
    const firstRunsMs = performance.now() - began;
    await wait(() => runsOn(pid, false), BOTS);
    const allRunMs = performance.now() - began;
    await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
    const { violations, overlaps } = witness;
    if (violations.length > 0 || overlaps.length > 0 || witness.visits !== 2 * BOTS) {
      const seen = `${overlaps.length} overlaps, ${witness.visits} connections of ${BOTS} bots`;
      throw new Error(`a bot was two at once: ${[seen, ...violations].join('; ')}`);
    }
    return { bots: BOTS, wasLeader, leaseMs, allRunMs, firstRunsMs };
  } finally {
    await witness.stop();
  }
}
