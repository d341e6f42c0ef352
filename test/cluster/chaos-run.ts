// A cluster under load while it has faults, and what must hold afterwards. Owns the load: bots, clients that hop, changes of bots and
// tokens on every node.

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { call } from '../harness/api.js';
import { eventually } from '../harness/bots.js';
import type { ServiceNode, TestCluster } from '../harness/cluster.js';
import { allPages } from '../harness/history.js';
import { HoppingClient, presentNumber, type Texts } from '../harness/hopping-client.js';
import { makeToken } from '../harness/tokens.js';
import type { Faults } from './chaos-faults.js';
import { type Stall, watchHealth } from './chaos-health.js';
import { ChaosModel, type Shown } from './chaos-model.js';
import { allJoined, botsOf, createWitnesses, expectOnce, pinOf } from './service.js';

const CLIENTS = 5;
/** Between two changes that one node is asked for, in ms. */
const CHANGE_MS = 1000;
/** Everything is as it was asked for, on a busy machine after all faults. */
const SETTLED_MS = 120_000;

export interface ChaosOptions {
  bots: number;
  random: () => number;
  say: (line: string) => void;
}

export class ChaosRun {
  /** By epoch: events by number. */
  readonly texts = new Map<string, Texts>();
  readonly model: ChaosModel;
  stalls: Stall[] = [];
  /** What nodes said of themselves, and when: a line for each change. */
  readonly said: string[] = [];
  readonly #cluster: TestCluster;
  readonly #faults: Faults;
  readonly #options: ChaosOptions;
  readonly #clients: HoppingClient[] = [];
  #isOver = false;
  #isPaused = false;
  #changing = 0;

  constructor(cluster: TestCluster, faults: Faults, options: ChaosOptions) {
    this.#cluster = cluster;
    this.#faults = faults;
    this.#options = options;
    const { random, bots } = options;
    const config = { ...cluster.witnessAt, log_ms: 500 };
    this.model = new ChaosModel({ random, most: bots, body: { kind: 'witness', config } });
  }

  get summary(): string[] {
    const faults = [...this.#faults.counts].map(([what, count]) => `${count} ${what}`).join(', ');
    const { visits, overlaps, violations } = this.#cluster.witness;
    const ledgers = this.#clients.map(({ ledger }) => ledger);
    const sum = (of: (ledger: HoppingClient['ledger']) => number): number =>
      ledgers.reduce((total, ledger) => total + of(ledger), 0);
    const events = [...this.texts.values()].reduce((total, texts) => total + texts.size, 0);
    return [
      `faults: ${faults}`,
      `changes: ${this.model.summary}`,
      `${events} events, ${sum(({ frames }) => frames)} received, ${sum(({ gaps }) => gaps.length)} gaps, ${sum(({ epochs }) => epochs)} to another epoch`,
      `the witness: ${visits} connections, ${overlaps.length} of frozen nodes stayed open, ${violations.length} violations`,
      `streams that stalled while their node was on: ${JSON.stringify(this.stalls.slice(0, 10))}`,
    ];
  }

  /** @param disturb resolves when all faults are over. */
  async run(disturb: () => Promise<void>): Promise<void> {
    const cluster = this.#cluster;
    const { bots, say } = this.#options;
    await allJoined(cluster);
    for (const node of cluster.nodes) {
      const { name } = node;
      const pinned = { node: name, failover: 'stay' };
      await createWitnesses(cluster, node, 1, { log_ms: 250 }, pinned, `pin-${name}-`);
    }
    for (let n = 0; n < bots; n++) {
      const node = cluster.node(n % cluster.nodes.length);
      await this.model.create(node.service, node.name);
    }
    await this.#settled();
    const body = { name: 'chaos', scopes: ['admin'] };
    const { token } = await makeToken(cluster.node(0).service, body);
    for (let n = 0; n < CLIENTS; n++)
      this.#clients.push(new HoppingClient(token, (epoch) => this.#textsOf(epoch)));
    const endHealth = await watchHealth(cluster, this.said);
    say(`${bots} bots on ${cluster.nodes.length} nodes`);
    const load = [
      ...this.#clients.map((client) => this.#hop(client)),
      ...cluster.nodes.map((node) => this.#change(node)),
    ];
    await disturb().finally(async () => {
      this.#isOver = true;
      await Promise.all(load);
      this.stalls = await endHealth();
    });
    say('all faults are over');
    await this.#check();
  }

  #textsOf(epoch: string): Texts {
    const texts = this.texts.get(epoch) ?? new Map<number, string>();
    this.texts.set(epoch, texts);
    return texts;
  }

  /** A client that stays nowhere. */
  async #hop(client: HoppingClient): Promise<void> {
    while (!this.#isOver) {
      const nodes = this.#cluster.awake.filter((node) => this.#faults.joined.has(node));
      // A node may be killed while it is asked.
      if (nodes.length > 0) await client.hop(this.#pick(nodes)).catch(() => {});
      await this.#pause(3000);
    }
  }

  /** What people ask of one node, also of one that has a fault. One that is frozen answers when it wakes. */
  async #change(node: ServiceNode): Promise<void> {
    while (!this.#isOver) {
      await this.#pause(CHANGE_MS);
      if (!node.isUp || this.#isPaused) continue;
      this.#changing += 1;
      if (this.#options.random() < 0.25) await this.model.changeToken(node.service);
      else await this.model.changeBot(node.service, node.name);
      this.#changing -= 1;
    }
  }

  /** What is stored is deleted, once all else is as it has to be. */
  async deleted(what: 'stream' | 'bots' | 'nodes' | 'tokens'): Promise<void> {
    await this.#verify();
    await this.#faults.deleted(what);
    await this.#verify();
  }

  /** Nothing is asked meanwhile. Then it is known again what became of changes without an answer. */
  async #verify(): Promise<void> {
    const { awake } = this.#cluster;
    await allJoined(this.#cluster, awake, SETTLED_MS);
    this.#isPaused = true;
    await eventually(() => this.#changing === 0, 'answers to all changes', SETTLED_MS);
    await this.#settled();
    const { name, service } = this.#cluster.node(0);
    await eventually(
      async () => {
        await this.model.overtake(service, name);
        return this.model.bots.every(({ isOpen }) => !isOpen);
      },
      'answers that show what became of changes without one',
      SETTLED_MS,
    );
    await this.#settled();
    this.model.resolve((await botsOf(this.#cluster.node(0).service)) as Shown[]);
    this.#isPaused = false;
    this.#options.say('all bots and tokens are as they were asked for, on all nodes');
  }

  async #check(): Promise<void> {
    const cluster = this.#cluster;
    await this.#verify();
    expectOnce(cluster, this.#faults.frozen);
    await this.#checkClients();
    await this.#checkJournals();
    expectOnce(cluster, this.#faults.frozen);
  }

  /** Each node lists what was asked for, and the witness has what runs, and nothing else. */
  async #settled(): Promise<void> {
    const cluster = this.#cluster;
    const pins = new Set(cluster.nodes.map(pinOf));
    let wrong: string[] = [];
    await eventually(
      async () => {
        const lists = await Promise.all(
          cluster.nodes.map(async ({ name, service }) => {
            const shown = (await botsOf(service)) as Shown[];
            const own = shown.filter(({ id }) => !pins.has(id));
            const online = own.filter(({ status }) => status === 'online').map(({ id }) => id);
            const here = cluster.witness.present.filter((id) => !pins.has(id));
            const isSame = online.sort().join() === here.sort().join();
            return [
              ...this.model.contradictions(own),
              ...(isSame ? [] : [`the witness has ${here}, and the list ${online}`]),
            ].map((line) => `${name}: ${line}`);
          }),
        );
        wrong = lists.flat().concat(await this.#wrongTokens());
        return wrong.length === 0;
      },
      'what was asked for',
      SETTLED_MS,
    ).catch((thrown: Error) => {
      // A bot whose newer connection has a lower term is not the one that the witness counts.
      throw new Error([thrown.message, ...wrong, ...cluster.witness.violations].join('\n'));
    });
  }

  async #wrongTokens(): Promise<string[]> {
    const found = this.model.tokens.flatMap(({ id, token, fates, asked }) =>
      this.#cluster.nodes.map(async ({ name, service }) => {
        const { status } = await call(service, 'GET', '/api/bots?limit=1', { token });
        const fate = status === 401 ? 'gone' : 'valid';
        return fates.has(fate) ? [] : [`${name}: token ${id} is ${fate}: ${asked.at(-1)}`];
      }),
    );
    return (await Promise.all(found)).flat();
  }

  async #checkClients(): Promise<void> {
    const end = await presentNumber(this.#cluster.node(0));
    for (const [n, client] of this.#clients.entries()) {
      await client.hop(this.#cluster.node(n % this.#cluster.nodes.length));
      await client.reach(end);
      client.leave();
      expect(client.allFaults, `client ${n}`).toEqual([]);
    }
    this.#options.say('clients account for every id');
  }

  /**
   * Each line that a client got is in the journal of a node, except what a node had not written when it was killed or its disk was full:
   * the journal is written after the line is on the stream.
   */
  async #checkJournals(): Promise<void> {
    const journals = await Promise.all(
      this.#cluster.nodes.map(({ service }) =>
        allPages(service, '?order=oldest&limit=1000&event=log&node=self'),
      ),
    );
    const found = new Set(journals.flat().map(({ data }) => JSON.stringify(data)));
    const lines = [...this.texts.values()]
      .flatMap((texts) => [...texts.values()])
      .filter((text) => text.includes('\nevent: log\n'));
    const missing = lines.map(dataOf).filter((json) => {
      const { timestamp_ms: at } = JSON.parse(json) as { timestamp_ms: number };
      return (
        !found.has(json) && !this.#faults.unwritten.some(({ from, to }) => at > from && at <= to)
      );
    });
    expect(missing.slice(0, 5), `${missing.length} lines`).toEqual([]);
    this.#options.say(`journals and stream agree in ${lines.length} lines`);
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#options.random() * from.length)] as T;
  }

  async #pause(mostMs: number): Promise<void> {
    await delay(this.#options.random() * mostMs);
  }
}

function dataOf(block: string): string {
  const data = block.slice(block.indexOf('\ndata: ') + '\ndata: '.length);
  return JSON.stringify(JSON.parse(data));
}
