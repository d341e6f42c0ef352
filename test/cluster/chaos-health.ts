// Whether a node says that it is in the cluster while its clients get nothing. One bot on each node writes all the time and stays there, so
// that the stream of a node that is on has news.

import { call } from '../harness/api.js';
import type { ServiceNode, TestCluster } from '../harness/cluster.js';
import { RawStream } from '../harness/raw-stream.js';
import { pinOf } from './service.js';

const LOOK_MS = 250;
/** A node that does not answer says nothing. */
const ANSWER_MS = 2000;
/** This process was not scheduled for so long: what it has not read yet may have come. */
const LATE_MS = 500;

/** A stream that was stalled for `ms` while its node said that it is on. */
export interface Stall {
  node: string;
  ms: number;
  /** Unix epoch in ms. */
  endedAt: number;
}

class Watched {
  readonly stalls: Stall[] = [];
  readonly #said: string[];
  #last = '';
  readonly #cluster: TestCluster;
  readonly #node: ServiceNode;
  readonly #token: string;
  #stream: RawStream | undefined;
  /** Since when all that is needed for news is there, and the last of them came. */
  #since = performance.now();
  #lookedAt = performance.now();
  #longestMs = 0;

  constructor(cluster: TestCluster, node: ServiceNode, token: string, said: string[]) {
    this.#said = said;
    this.#cluster = cluster;
    this.#node = node;
    this.#token = token;
  }

  async look(): Promise<void> {
    const isOn = await this.#isOn();
    const now = performance.now();
    const isLate = now - this.#lookedAt > ANSWER_MS + LATE_MS;
    this.#lookedAt = now;
    const speaks = this.#cluster.witness.pidOf(pinOf(this.#node)) === this.#pid;
    const isOpen = this.#stream !== undefined && !this.#stream.isOver;
    if (!isOpen) await this.#open();
    if (!isOn || !speaks || !isOpen || isLate) return this.#moved();
    this.#longestMs = Math.max(this.#longestMs, now - this.#since);
  }

  close(): void {
    this.#moved();
    this.#stream?.close();
  }

  get #pid(): number {
    return this.#node.isUp && !this.#node.isFrozen ? this.#node.pid : -1;
  }

  #moved(): void {
    const ms = Math.round(this.#longestMs);
    if (ms > 2000) this.#note(`its stream stalled for ${ms} ms while it was on`);
    if (ms > 2000) this.stalls.push({ node: this.#node.name, ms, endedAt: Date.now() });
    this.#longestMs = 0;
    this.#since = performance.now();
  }

  async #isOn(): Promise<boolean> {
    if (this.#pid === -1) return this.#says('nothing');
    const signal = AbortSignal.timeout(ANSWER_MS);
    const headers = { authorization: `Bearer ${this.#token}` };
    try {
      const answer = await fetch(`${this.#node.service.url}/api/nodes`, { headers, signal });
      const { state, reason } = (await answer.json()) as { state?: string; reason?: string };
      return this.#says(`${state}`, reason ?? '');
    } catch {
      return this.#says('nothing in time');
    }
  }

  /** @returns whether that is that it is on. */
  #says(state: string, reason = ''): boolean {
    const said = `${state} ${reason}`;
    if (said !== this.#last) this.#note(said);
    this.#last = said;
    return state === 'on';
  }

  #note(what: string): void {
    this.#said.push(`${new Date().toISOString()} ${this.#node.name}: ${what}`);
  }

  async #open(): Promise<void> {
    this.#stream?.close();
    this.#stream = undefined;
    if (this.#pid === -1) return;
    const { port, url } = this.#node.service;
    const options = {
      host: new URL(url).hostname,
      token: this.#token,
      onBlock: (block: string) => {
        if (block.startsWith('id: ')) this.#moved();
      },
    };
    this.#stream = await RawStream.open(port, options).catch(() => undefined);
  }
}

/** Watches all nodes until it is closed. @param said gets what nodes say. @returns what ends it, and then has the stalls. */
export async function watchHealth(
  cluster: TestCluster,
  said: string[],
): Promise<() => Promise<Stall[]>> {
  const [first] = cluster.nodes;
  if (!first) throw new Error('there is no node');
  const body = { name: 'health', scopes: ['read'] };
  const { json } = await call(first.service, 'POST', '/api/tokens', { body });
  const { token } = json as { token: string };
  let isOver = false;
  const watched = cluster.nodes.map((node) => new Watched(cluster, node, token, said));
  const all = watched.map(async (one) => {
    while (!isOver) {
      await one.look();
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    one.close();
  });
  return async () => {
    isOver = true;
    await Promise.all(all);
    return watched.flatMap(({ stalls }) => stalls).sort((a, b) => b.ms - a.ms);
  };
}
