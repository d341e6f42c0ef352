// Owns the cluster under measurement: a NATS server and three services, each a process, on this machine.

import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { jetstreamManager, type NatsConnection } from '../../src/cluster/wire/nats.js';
import { NatsServer } from '../../test/harness/nats.js';
import { ask } from '../harness/ask.js';
import { Drover, type Settings } from '../harness/drover.js';
import { benchScript, REPOSITORY } from '../harness/paths.js';

const NAME = 'bench';
const WITNESS_KIND = fileURLToPath(new URL('test/fixtures/kinds/witness.mjs', REPOSITORY));
const JOINED_WITHIN_MS = 30_000;
const LOOK_AGAIN_MS = 50;
/** Ends the server with the bench, even if the bench is killed. */
const WITH_BENCH = ['setpriv', '--pdeathsig', 'KILL'];

export const NODES = ['h1', 'h2', 'h3'];

/** A process of the cluster. */
export interface Part {
  name: string;
  pid: number;
}

export class BenchCluster {
  readonly nats: NatsServer;
  readonly nodes: readonly Drover[];
  readonly #connection: NatsConnection;

  private constructor(nats: NatsServer, nodes: readonly Drover[], connection: NatsConnection) {
    this.nats = nats;
    this.nodes = nodes;
    this.#connection = connection;
  }

  /** Three nodes. @param settings of each node. */
  static async start(settings: Settings & { cluster?: object } = {}): Promise<BenchCluster> {
    const nats = await NatsServer.start({ within: WITH_BENCH });
    const nodes: Drover[] = [];
    try {
      for (const node of NODES) {
        nodes.push(
          await Drover.start(node, {
            kinds: [fileURLToPath(benchScript('load/talking-bot.js')), WITNESS_KIND],
            // No limits: a bench intends to fill the service.
            pressure: { max_cpu: 1 },
            ...settings,
            cluster: { name: NAME, node, servers: [nats.url], ...settings.cluster },
          }),
        );
      }
      await Promise.all(nodes.map(joined));
      return new BenchCluster(nats, nodes, await nats.connect());
    } catch (error) {
      await Promise.all(nodes.map((node) => node.stop()));
      await nats.stop();
      throw error;
    }
  }

  /** All processes of the cluster. */
  get parts(): Part[] {
    return [
      ...this.nodes.map(({ server: { name, pid } }) => ({ name, pid })),
      { name: 'NATS', pid: this.nats.pid ?? 0 },
    ];
  }

  /** What the stream of events holds on the NATS server, with subjects and headers. */
  async stored(): Promise<{ messages: number; bytes: number }> {
    const manager = await jetstreamManager(this.#connection);
    const { state } = await manager.streams.info(clusterNames(NAME).stream);
    return { messages: state.last_seq, bytes: state.bytes };
  }

  /** The node that leads, as the first one sees it. */
  async leader(): Promise<Drover | undefined> {
    const [{ server, authorization }] = this.nodes as [Drover];
    const { nodes } = JSON.parse(
      await ask(server.url, '/api/nodes', { authorization }),
    ) as NodeList;
    const name = nodes.find(({ is_leader }) => is_leader)?.node;
    return this.nodes.find((node) => node.server.name === name);
  }

  /** Ends a node by SIGKILL. */
  async kill(node: Drover): Promise<void> {
    await node.server.kill();
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.nats.stop();
  }
}

interface NodeList {
  state: string;
  nodes: { node: string; state: string; is_leader: boolean }[];
}

/** Resolves when a node sees all nodes live. */
async function joined({ server, authorization }: Drover): Promise<void> {
  const until = performance.now() + JOINED_WITHIN_MS;
  for (;;) {
    const list = JSON.parse(await ask(server.url, '/api/nodes', { authorization })) as NodeList;
    const live = list.nodes.filter(({ state }) => state === 'live');
    if (list.state === 'on' && live.length === NODES.length) return;
    if (performance.now() > until) {
      throw new Error(
        `${server.name} sees ${live.length} of ${NODES.length} nodes, is ${list.state}`,
      );
    }
    await delay(LOOK_AGAIN_MS);
  }
}
