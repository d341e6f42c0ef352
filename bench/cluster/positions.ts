// Counts frames by the ids of events that are made for it: on the own stream of each node, and on the cluster's as each node shows it.

import type { EventSourceMessage } from 'eventsource-parser';
import type { LogEvent } from '../../src/shared/contract/event-schemas.js';
import type { Drover } from '../harness/drover.js';
import { Probe, type Probed } from '../streams/probe.js';

const MARKS = '/events?snapshot=0&scope=dispatch';

/** The position of all streams, after one mark on each node. */
export interface Positions {
  /** Number of the mark on the own stream of each node. */
  own: number[];
  /** The last of the marks on the cluster's stream, as each node shows it. */
  cluster: Probed[];
  /** The longest time from a mark to the node that had it last, in ms. */
  lagMs: number;
}

/**
 * Makes a mark on each node, and waits until all nodes have all of them. The streams are open only meanwhile: what streams cost is
 * measured by other benches. @throws Error when a mark does not come.
 */
export async function positionsOf(nodes: readonly Drover[], withinMs: number): Promise<Positions> {
  const open = (path: string) =>
    Promise.all(
      nodes.map(({ server, authorization }) => Probe.open(server.url, path, authorization)),
    );
  const ownProbes = await open(`${MARKS}&node=self`);
  const clusterProbes = await open(MARKS);
  try {
    const since = Date.now();
    const began = performance.now();
    const own = ownProbes.map((probe) => probe.after(1, withinMs));
    // A node that was cut off shows its own stream until it has caught up, and earlier marks may come late.
    const ownEpochs = new Set<string>();
    const cluster = clusterProbes.map((probe) =>
      probe.after(
        nodes.length,
        withinMs,
        ({ message }) => timeOf(message) >= since && !ownEpochs.has(epochOf(message)),
      ),
    );
    await Promise.all(nodes.map((node) => node.ping()));
    const marks = await Promise.all(own);
    for (const { message } of marks) ownEpochs.add(epochOf(message));
    const last = await Promise.all(cluster);
    return {
      own: marks.map(({ seq }) => seq),
      cluster: last,
      lagMs: Math.max(...last.map(({ at }) => at)) - began,
    };
  } finally {
    for (const probe of [...ownProbes, ...clusterProbes]) probe.close();
  }
}

function timeOf({ data }: EventSourceMessage): number {
  return (JSON.parse(data) as LogEvent).timestamp_ms;
}

function epochOf({ id = '' }: EventSourceMessage): string {
  return id.slice(0, id.indexOf('-'));
}

/**
 * What is on the cluster's stream between two positions, compared with what the nodes have.
 * @returns the number of frames. @throws Error when one is missing or doubled, or the nodes do not agree.
 */
export function expectAll(from: Positions, to: Positions): number {
  const counts = to.cluster.map(({ seq }, at) => seq - (from.cluster[at]?.seq ?? Number.NaN));
  const ids = new Set(to.cluster.map(({ message }) => message.id));
  if (ids.size !== 1) throw new Error(`the nodes number differently: ${[...ids].join(', ')}`);
  const made = to.own.reduce((sum, seq, at) => sum + seq - (from.own[at] ?? Number.NaN), 0);
  const count = counts[0] ?? Number.NaN;
  if (count !== made) {
    throw new Error(`the nodes have made ${made} events, the stream of the cluster has ${count}`);
  }
  return count;
}
