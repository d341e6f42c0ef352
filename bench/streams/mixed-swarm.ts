// Many clients at little cost: almost all are counted in C, and a few, spread evenly among them, are in Node, where they can be
// parsed for exactness and latency.

import { setTimeout as delay } from 'node:timers/promises';
import { generatorAtItsLimit } from '../load/http-load.js';
import type { StreamTarget } from '../load/swarm-jobs.js';
import { CountingClients } from './counting-clients.js';
import { Swarm, type SwarmTally } from './swarm.js';

/** Streams of a group in Node. */
export const IN_NODE = 10;
const LOOK_AGAIN_MS = 5;

export class MixedSwarm {
  readonly #swarm: Swarm;
  readonly #counting = new Map<string, CountingClients>();

  private constructor(swarm: Swarm) {
    this.#swarm = swarm;
  }

  /** @param groups how many there will be at a time. */
  static async start(groups: number): Promise<MixedSwarm> {
    return new MixedSwarm(await Swarm.start(groups * IN_NODE));
  }

  async open(group: string, target: StreamTarget, streams: number): Promise<void> {
    const counting = await CountingClients.start(target);
    this.#counting.set(group, counting);
    let left = streams - IN_NODE;
    for (let parts = IN_NODE; parts > 0; parts--) {
      const share = Math.floor(left / (parts + 1));
      await counting.open(share);
      await this.#swarm.open(group, target, 1);
      left -= share;
    }
    await counting.open(left);
  }

  async mark(group: string, sample: number): Promise<void> {
    await this.#of(group).mark();
    await this.#swarm.mark(group, sample);
  }

  async begin(group: string): Promise<SwarmTally> {
    const counting = this.#of(group);
    counting.begin();
    return this.#with(counting, await this.#swarm.begin(group));
  }

  async end(group: string): Promise<SwarmTally> {
    return this.#with(this.#of(group), await this.#swarm.end(group));
  }

  /** @throws Error when a stream has not had exactly what the others have had, or one had a fault. */
  async drain(group: string, withinMs: number): Promise<SwarmTally> {
    const counting = this.#of(group);
    const deadline = performance.now() + withinMs;
    const parsed = await this.#swarm.drain(group, withinMs);
    for (;;) {
      const counted = await counting.report();
      if (counted.fault !== '') throw new Error(`${group}: ${counted.fault}`);
      if (counted.least === parsed.most && counted.most === parsed.most) break;
      if (counted.closed > 0 || counted.gaps + parsed.gaps > 0) break;
      if (performance.now() > deadline) {
        const { least, most } = counted;
        throw new Error(`${group}: a stream had ${least} bytes, others ${most} and ${parsed.most}`);
      }
      await delay(LOOK_AGAIN_MS);
    }
    return this.#with(counting, parsed);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#swarm.stop(), ...[...this.#counting.values()].map((c) => c.stop())]);
  }

  #of(group: string): CountingClients {
    const counting = this.#counting.get(group);
    if (counting === undefined) throw new Error(`there is no group ${group}`);
    return counting;
  }

  async #with(counting: CountingClients, parsed: SwarmTally): Promise<SwarmTally> {
    const { bytes, chunks, gaps, closed, least, most } = await counting.report();
    const use = counting.use();
    const ownCpu = use.cpuNs / use.wallNs;
    const ownWait = use.waitedNs / use.wallNs;
    return {
      ...parsed,
      bytes: parsed.bytes + bytes,
      chunks: parsed.chunks + chunks,
      gaps: parsed.gaps + gaps,
      closed: parsed.closed + closed,
      least: Math.min(parsed.least, least),
      most: Math.max(parsed.most, most),
      ownCpu: Math.max(parsed.ownCpu, ownCpu),
      ownWait: Math.max(parsed.ownWait, ownWait),
      atItsLimit: parsed.atItsLimit || generatorAtItsLimit({ ownCpu, ownWait }),
    };
  }
}
