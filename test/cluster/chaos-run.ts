// Faults at random for a cluster under load, and what must hold afterwards. Owns the load: bots, clients that hop, tokens.

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { call } from '../harness/api.js';
import { act, eventually } from '../harness/bots.js';
import type { ServiceNode, TestCluster } from '../harness/cluster.js';
import { allPages } from '../harness/history.js';
import { HoppingClient, presentNumber, type Texts } from '../harness/hopping-client.js';
import type { NatsServer } from '../harness/nats.js';
import { makeToken, revoke } from '../harness/tokens.js';
import {
  allJoined,
  botsOf,
  createWitnesses,
  expectOnce,
  nodesOf,
  showsCluster,
} from './service.js';

const CLIENTS = 4;
/** Faults that overlap. */
const AT_ONCE = 2;
/** A killed node can have lost what it wrote last: journal.flush_ms on a busy machine, in ms. */
const UNWRITTEN_MS = 2000;

export interface ChaosOptions {
  bots: number;
  runMs: number;
  random: () => number;
  progress: (line: string) => void;
}

export class ChaosRun {
  readonly #cluster: TestCluster;
  readonly #options: ChaosOptions;
  readonly #texts: Texts = new Map();
  readonly #clients: HoppingClient[] = [];
  /** Processes that were frozen: their connections could stay open. */
  readonly #frozen: number[] = [];
  /** Nodes that joined the cluster since their start: only these have its stream. */
  readonly #joined = new Set<ServiceNode>();
  readonly #busy = new Set<ServiceNode | NatsServer>();
  readonly #counts = new Map<string, number>();
  readonly #revoked: string[] = [];
  /** When nodes were killed, in Unix epoch ms. */
  readonly #killedAt: number[] = [];
  #bots: string[] = [];
  #isOver = false;
  #begunMs = 0;

  constructor(cluster: TestCluster, options: ChaosOptions) {
    this.#cluster = cluster;
    this.#options = options;
  }

  get summary(): string {
    const counts = [...this.#counts].map(([what, count]) => `${count} ${what}`).join(', ');
    const { visits, overlaps, violations } = this.#cluster.witness;
    const gaps = this.#clients.reduce((sum, { ledger }) => sum + ledger.gaps.length, 0);
    return `${counts}; ${this.#texts.size} events, ${gaps} gaps; the witness: ${visits} connections, ${overlaps.length} of frozen nodes stayed open, ${violations.length} violations`;
  }

  async run(): Promise<void> {
    const cluster = this.#cluster;
    await allJoined(cluster);
    for (const node of cluster.nodes) this.#joined.add(node);
    const config = { log_ms: 500 };
    this.#bots = await createWitnesses(cluster, cluster.node(0), this.#options.bots, config);
    await cluster.witness.all(this.#bots);
    const token = await this.#adminToken();
    for (let n = 0; n < CLIENTS; n++) this.#clients.push(new HoppingClient(token, this.#texts));
    this.#begunMs = performance.now();
    this.#say(`${this.#bots.length} bots on ${cluster.nodes.length} nodes`);
    const load = [...this.#clients.map((client) => this.#hop(client)), this.#operate()];
    await Promise.all(Array.from({ length: AT_ONCE }, () => this.#disturb()));
    this.#isOver = true;
    await Promise.all(load);
    this.#say('all faults are over');
    await this.#check();
    this.#say(this.summary);
  }

  async #adminToken(): Promise<string> {
    const body = { name: 'chaos', scopes: ['admin'] };
    return (await makeToken(this.#cluster.node(0).service, body)).token;
  }

  /** One fault after the other. */
  async #disturb(): Promise<void> {
    while (performance.now() - this.#begunMs < this.#options.runMs) {
      await this.#pause(1000);
      const fault = this.#pick([
        () => this.#onNode('kills of a node', (node) => this.#kill(node)),
        () => this.#onNode('frozen nodes', (node) => this.#freeze(node)),
        () => this.#onNode('silent networks', (node) => this.#cut(node, 'silent')),
        () => this.#onNode('refused networks', (node) => this.#cut(node, 'refused')),
        () => this.#onServer('kills of NATS', (server) => this.#killServer(server)),
        () => this.#onServer('frozen NATS servers', (server) => this.#freezeServer(server)),
      ]);
      await fault();
    }
  }

  async #onNode(what: string, act: (node: ServiceNode) => Promise<void>): Promise<void> {
    // Another fault may have it.
    const free = this.#cluster.nodes.filter((node) => node.isUp && !this.#busy.has(node));
    await this.#on(what, free, act, ({ name }) => name);
  }

  async #onServer(what: string, act: (server: NatsServer) => Promise<void>): Promise<void> {
    const free = this.#cluster.nats.filter((server) => !this.#busy.has(server));
    await this.#on(what, free, act, ({ port }) => `NATS ${port}`);
  }

  async #on<T extends ServiceNode | NatsServer>(
    what: string,
    free: readonly T[],
    act: (target: T) => Promise<void>,
    nameOf: (target: T) => string,
  ): Promise<void> {
    if (free.length === 0) return;
    const target = this.#pick(free);
    this.#busy.add(target);
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
    this.#say(`${what}: ${nameOf(target)}`);
    await act(target).finally(() => this.#busy.delete(target));
  }

  async #kill(node: ServiceNode): Promise<void> {
    this.#joined.delete(node);
    await node.kill();
    this.#killedAt.push(Date.now());
    await this.#pauseOfLeases(2);
    await node.start();
    void this.#join(node);
  }

  async #freeze(node: ServiceNode): Promise<void> {
    this.#frozen.push(node.pid);
    node.suspend();
    await this.#pauseOfLeases(2.5);
    node.resume();
  }

  async #cut(node: ServiceNode, how: 'silent' | 'refused'): Promise<void> {
    await node.links.cut(how);
    await this.#pauseOfLeases(2.5);
    await node.links.join();
  }

  async #killServer(server: NatsServer): Promise<void> {
    await server.kill();
    await this.#pauseOfLeases(1.5);
    await server.run();
  }

  async #freezeServer(server: NatsServer): Promise<void> {
    server.suspend();
    await this.#pauseOfLeases(1.5);
    server.resume();
  }

  /** Until a node that was started is in the cluster; not when it is killed before. */
  async #join(node: ServiceNode): Promise<void> {
    const { pid, service } = node;
    const isSame = (): boolean => node.isUp && node.pid === pid;
    await eventually(async () => {
      if (!isSame()) return true;
      const isOn = (await nodesOf(service).catch(() => null))?.state === 'on';
      return isOn && (await showsCluster(service).catch(() => false));
    }, 'a node to join').catch(() => {});
    if (isSame()) this.#joined.add(node);
  }

  /** A client that stays nowhere. */
  async #hop(client: HoppingClient): Promise<void> {
    while (!this.#isOver) {
      const nodes = this.#cluster.awake.filter((node) => this.#joined.has(node));
      // A node may be killed while it is asked.
      if (nodes.length > 0) await client.hop(this.#pick(nodes)).catch(() => {});
      await this.#pause(3000);
    }
  }

  /** What people do meanwhile. Requests may be refused or lost; what was answered must be true. */
  async #operate(): Promise<void> {
    while (!this.#isOver) {
      await this.#pause(1000);
      const [here, there] = [this.#awake(), this.#awake()];
      if (!here || !there) continue;
      try {
        await act(here.service, this.#pick(this.#bots), 'restart');
        const { id, token } = await makeToken(here.service);
        if ((await revoke(there.service, id)).status === 200) this.#revoked.push(token);
      } catch {
        // The node was killed, frozen or cut off.
      }
    }
  }

  #awake(): ServiceNode | undefined {
    const { awake } = this.#cluster;
    return awake.length > 0 ? this.#pick(awake) : undefined;
  }

  async #check(): Promise<void> {
    const cluster = this.#cluster;
    await allJoined(cluster);
    await cluster.witness.all(this.#bots).catch(async (thrown: Error) => {
      const shown = (await botsOf(cluster.node(0).service)).filter(
        ({ status }) => status !== 'online',
      );
      throw new Error(`${thrown.message}; not online: ${JSON.stringify(shown)}`);
    });
    const wanted = this.#bots.map((id) => `${id} online`).sort();
    for (const { service } of cluster.nodes)
      await eventually(async () => {
        const shown = (await botsOf(service)).map(({ id, status }) => `${id} ${status}`);
        return shown.sort().join() === wanted.join();
      }, 'all bots in the list of each node');
    this.#say('all bots are connected');
    expectOnce(cluster, this.#frozen);
    const dead = await Promise.all(
      this.#revoked.flatMap((token) =>
        cluster.nodes.map(({ service }) => call(service, 'GET', '/api/bots', { token })),
      ),
    );
    expect(dead.filter(({ status }) => status !== 401)).toEqual([]);
    this.#say(`${this.#revoked.length} revoked tokens are dead on all nodes`);
    await this.#checkClients();
    await this.#checkJournals();
    expectOnce(cluster, this.#frozen);
  }

  async #checkClients(): Promise<void> {
    const end = await presentNumber(this.#cluster.node(0));
    for (const [n, client] of this.#clients.entries()) {
      await client.hop(this.#cluster.node(n % this.#cluster.nodes.length));
      await client.reach(end);
      client.leave();
      expect(client.allFaults).toEqual([]);
    }
    this.#say('clients account for every id');
  }

  /**
   * Each line that a client got is in the journal of a node, except what a node that was killed had not written yet: the journal is
   * flushed after the line is on the stream.
   */
  async #checkJournals(): Promise<void> {
    const journals = await Promise.all(
      this.#cluster.nodes.map(({ service }) =>
        allPages(service, '?order=oldest&limit=1000&kind=log&node=self'),
      ),
    );
    const found = new Set(journals.flat().map(({ data }) => JSON.stringify(data)));
    const lines = [...this.#texts.values()].filter((text) => text.includes('\nevent: log\n'));
    const missing = lines.map(dataOf).filter((json) => {
      const { timestamp_ms: at } = JSON.parse(json) as { timestamp_ms: number };
      return (
        !found.has(json) && !this.#killedAt.some((kill) => at > kill - UNWRITTEN_MS && at <= kill)
      );
    });
    expect(missing.slice(0, 5), `${missing.length} lines`).toEqual([]);
    this.#say(`journals and stream agree in ${lines.length} lines`);
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#options.random() * from.length)] as T;
  }

  /** How long a fault lasts is the test's input. There is no event to wait for. */
  #pauseOfLeases(most: number): Promise<void> {
    return this.#pause(most * this.#cluster.leaseMs);
  }

  async #pause(mostMs: number): Promise<void> {
    await delay(this.#options.random() * mostMs);
  }

  #say(line: string): void {
    const seconds = ((performance.now() - this.#begunMs) / 1000).toFixed(1);
    this.#options.progress(this.#begunMs === 0 ? line : `${seconds} s: ${line}`);
  }
}

function dataOf(block: string): string {
  const data = block.slice(block.indexOf('\ndata: ') + '\ndata: '.length);
  return JSON.stringify(JSON.parse(data));
}
