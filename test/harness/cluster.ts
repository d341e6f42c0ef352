// Test harness. Owns a cluster of built services, each with its NATS link, that a test kills, freezes and cuts off.

import { rmSync } from 'node:fs';
import path from 'node:path';
import { Cut } from './cut.js';
import { isolatedProcesses } from './isolation.js';
import { type Namespace, Network } from './namespaces.js';
import { NatsCluster, type NatsOptions, NatsServer } from './nats.js';
import { makeDir, type Service, type ServiceOptions, startService } from './service.js';
import { Witness } from './witness.js';

export interface ClusterOptions {
  /** Default 3. */
  nodes?: number;
  /** NATS servers, 1 or 3. Default 1. */
  servers?: number;
  nats?: NatsOptions;
  /** Default 5,000. */
  leaseMs?: number;
  /** Configuration of every node beside `cluster`; fields of `cluster` too. */
  config?: Record<string, unknown> & { cluster?: object };
  args?: string[];
  env?: ServiceOptions['env'];
  /** Each process in its own network namespace, where the system permits it; else proxies cut the links to NATS. Default false. */
  namespaces?: boolean;
  /** Called with the data directory of each node and NATS server before its start. */
  mount?: (dir: string) => void;
}

/** The links of one node to all NATS servers. */
interface Links {
  urls: string[];
  /** @param how `silent`: nothing comes through. `refused`: connections break. */
  cut(how: 'silent' | 'refused'): Promise<void>;
  join(): Promise<void>;
  close(): void;
}

export class ServiceNode {
  readonly name: string;
  readonly dataDir: string;
  readonly links: Links;
  /** The namespace that it is in. */
  readonly place: Namespace | undefined;
  /** Given to each start; a test may change them. */
  readonly options: ServiceOptions;
  #service: Service | undefined;
  #frozen: number[] = [];

  constructor(
    name: string,
    dataDir: string,
    links: Links,
    options: ServiceOptions,
    place: Namespace | undefined,
  ) {
    this.name = name;
    this.dataDir = dataDir;
    this.links = links;
    this.options = options;
    this.place = place;
  }

  get isUp(): boolean {
    return this.#service !== undefined;
  }

  get isFrozen(): boolean {
    return this.#frozen.length > 0;
  }

  /** @throws Error when it does not run. */
  get service(): Service {
    if (!this.#service) throw new Error(`node ${this.name} does not run`);
    return this.#service;
  }

  get pid(): number {
    return this.service.child.pid ?? 0;
  }

  /** Starts it, or starts it again with its data. */
  async start(more: ServiceOptions = {}): Promise<Service> {
    this.#service = await startService({ ...this.options, dataDir: this.dataDir, ...more });
    return this.#service;
  }

  /** SIGKILL, to its host processes too: the machine is gone. */
  async kill(): Promise<void> {
    const service = this.#service;
    if (!service) return;
    const children = isolatedProcesses(service);
    this.#service = undefined;
    this.#frozen = [];
    const gone = service.kill();
    for (const pid of children) signal(pid, 'SIGKILL');
    await gone;
  }

  /** SIGTERM. */
  async stop(): Promise<number | null> {
    const service = this.#service;
    this.resume();
    this.#service = undefined;
    return (await service?.stop()) ?? null;
  }

  /** SIGSTOP, to its host processes too: the machine is suspended. */
  suspend(): void {
    this.#frozen = [this.pid, ...isolatedProcesses(this.service)];
    for (const pid of this.#frozen) signal(pid, 'SIGSTOP');
  }

  resume(): void {
    for (const pid of this.#frozen.splice(0)) signal(pid, 'SIGCONT');
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

export class TestCluster {
  readonly nats: NatsServer[];
  readonly nodes: ServiceNode[] = [];
  readonly witness: Witness;
  /** Where the witness listens, for the configuration of a bot. */
  readonly witnessAt: { host: string; port: number };
  readonly leaseMs: number;
  readonly #dir: string;
  readonly #options: ClusterOptions;
  readonly #network: Network | undefined;
  readonly #places: Namespace[];

  private constructor(
    options: ClusterOptions,
    nats: NatsServer[],
    witness: Witness,
    network: Network | undefined,
    places: Namespace[],
    dir: string,
  ) {
    this.#dir = dir;
    this.#options = options;
    this.nats = nats;
    this.witness = witness;
    this.#network = network;
    this.#places = places;
    this.leaseMs = options.leaseMs ?? 5000;
    this.witnessAt = { host: network?.address ?? '127.0.0.1', port: witness.port };
  }

  /** Starts everything. Nodes are named h1, h2 and so on. */
  static async start(options: ClusterOptions = {}): Promise<TestCluster> {
    const cluster = await TestCluster.prepare(options);
    const { nodes = 3 } = options;
    for (let n = 0; n < nodes; n++) await cluster.add();
    await Promise.all(cluster.nodes.map((node) => node.start()));
    return cluster;
  }

  /** NATS and the witness, without nodes. */
  static async prepare(options: ClusterOptions = {}): Promise<TestCluster> {
    const { servers = 1, namespaces = false, mount } = options;
    const network = namespaces ? Network.tryMake() : undefined;
    const places = network ? Array.from({ length: servers }, () => network.add()) : [];
    const dir = makeDir();
    const dirs = mount ? places.map((_, n) => path.join(dir, `nats${n + 1}`)) : [];
    for (const one of dirs) mount?.(one);
    const nats = await startNats(servers, options.nats, places, dirs);
    const witness = await Witness.start(network?.address);
    return new TestCluster(options, nats, witness, network, places, dir);
  }

  get hasNamespaces(): boolean {
    return this.#network !== undefined;
  }

  /** @param index from 0. */
  node(index: number): ServiceNode {
    const node = this.nodes[index];
    if (!node) throw new Error(`there is no node ${index}`);
    return node;
  }

  /** Nodes that run and are not frozen. */
  get awake(): ServiceNode[] {
    return this.nodes.filter(({ isUp, isFrozen }) => isUp && !isFrozen);
  }

  /** A further node, which is not started. @param fields of its `cluster`. */
  async add(fields: object = {}): Promise<ServiceNode> {
    const name = `h${this.nodes.length + 1}`;
    const place = this.#network?.add();
    const links = await this.#linksOf(place);
    const { config = {}, args, env } = this.#options;
    const cluster = { name: 'test', node: name, lease_ms: this.leaseMs, servers: links.urls };
    const options: ServiceOptions = {
      config: { ...config, cluster: { ...cluster, ...config.cluster, ...fields } },
      ...(args && { args }),
      ...(env && { env }),
      ...(place && { within: place.within, host: place.address, address: place.address }),
    };
    const dataDir = path.join(this.#dir, name);
    this.#options.mount?.(dataDir);
    const node = new ServiceNode(name, dataDir, links, options, place);
    this.nodes.push(node);
    return node;
  }

  /** Nothing comes through between the one part of the cluster and the rest. Of namespaces. @returns what ends it. */
  separate(part: readonly (ServiceNode | NatsServer)[]): () => void {
    const { network, here, there } = this.#parts(part);
    const pairs = here.flatMap((a) => there.map((b) => [a, b] as const));
    for (const [a, b] of pairs) network.cut(a, b);
    return () => {
      for (const [a, b] of pairs) network.join(a, b);
    };
  }

  /** What one part of the cluster sends to the rest arrives that much later. Of namespaces. @returns what ends it. */
  slow(one: ServiceNode | NatsServer, ms: number): Promise<() => Promise<void>> {
    const { network, here, there } = this.#parts([one]);
    return network.slow(here[0] as Namespace, there, ms);
  }

  #parts(part: readonly (ServiceNode | NatsServer)[]): {
    network: Network;
    here: Namespace[];
    there: Namespace[];
  } {
    const network = this.#network;
    if (!network) throw new Error('there are no network namespaces');
    const places = new Map<ServiceNode | NatsServer, Namespace>();
    for (const node of this.nodes) places.set(node, node.place as Namespace);
    for (const [n, server] of this.nats.entries()) places.set(server, this.#places[n] as Namespace);
    const all = [...places];
    return {
      network,
      here: all.filter(([member]) => part.includes(member)).map(([, place]) => place),
      there: all.filter(([member]) => !part.includes(member)).map(([, place]) => place),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
    for (const { links } of this.nodes) links.close();
    await this.witness.stop();
    await Promise.all(this.nats.map((server) => server.stop()));
    this.#network?.remove();
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 3 });
  }

  async #linksOf(place: Namespace | undefined): Promise<Links> {
    const network = this.#network;
    if (network && place) {
      const all = (act: (server: Namespace) => void) => async () => this.#places.forEach(act);
      return {
        urls: this.nats.map(({ url }) => url),
        cut: all((server) => network.cut(place, server)),
        join: all((server) => network.join(place, server)),
        close() {},
      };
    }
    const cuts = await Promise.all(this.nats.map(({ port }) => Cut.before(port)));
    const set = async (state: Cut['state']): Promise<void> => {
      await Promise.all(cuts.map((cut) => cut.set(state)));
    };
    return {
      urls: this.nats.map(({ url, port }, n) => url.replace(`:${port}`, `:${cuts[n]?.port}`)),
      cut: set,
      join: () => set('open'),
      close: () => cuts.forEach((cut) => void cut.close()),
    };
  }
}

async function startNats(
  count: number,
  options: NatsOptions = {},
  places: readonly Namespace[] = [],
  dirs: readonly string[] = [],
): Promise<NatsServer[]> {
  const where = places.map(({ within, address }, n) => ({
    within,
    host: address,
    ...(dirs[n] && { dir: dirs[n] }),
  }));
  if (count === 1) return [await NatsServer.start({ ...options, ...where[0] })];
  return [...(await NatsCluster.start(count, options, where)).servers];
}
