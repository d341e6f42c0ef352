// Counts frames by the ids of events that are made for it: on the own stream of each node, and on the cluster's as each node shows it.

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

export class Marks {
  readonly #nodes: readonly Drover[];
  readonly #own: readonly Probe[];
  readonly #cluster: readonly Probe[];

  private constructor(nodes: readonly Drover[], own: readonly Probe[], cluster: readonly Probe[]) {
    this.#nodes = nodes;
    this.#own = own;
    this.#cluster = cluster;
  }

  static async open(nodes: readonly Drover[]): Promise<Marks> {
    const open = (path: string) =>
      Promise.all(
        nodes.map(({ server, authorization }) => Probe.open(server.url, path, authorization)),
      );
    return new Marks(nodes, await open(`${MARKS}&node=self`), await open(MARKS));
  }

  /** Makes a mark on each node, and waits until all nodes have all of them. @throws Error when one does not come. */
  async set(withinMs: number): Promise<Positions> {
    const count = this.#nodes.length;
    const began = performance.now();
    const own = this.#own.map((probe) => probe.after(1, withinMs));
    const cluster = this.#cluster.map((probe) => probe.after(count, withinMs));
    await Promise.all(this.#nodes.map((node) => node.ping()));
    const last = await Promise.all(cluster);
    return {
      own: (await Promise.all(own)).map(({ seq }) => seq),
      cluster: last,
      lagMs: Math.max(...last.map(({ at }) => at)) - began,
    };
  }

  close(): void {
    for (const probe of [...this.#own, ...this.#cluster]) probe.close();
  }
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
