// Runs in the command line. Owns `drover cluster try`: a cluster on this machine that is gone afterwards.

import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { DroverClient } from '../../client/index.js';
import { type ClusterLook, changesOf } from '../cluster/cluster-changes.js';
import { TryCluster, type TryNode } from '../cluster/try-cluster.js';
import { limit } from '../connection/connection.js';
import { count, list, wholeNumber } from '../flags/flag-values.js';
import { action } from '../terminal/action.js';
import { print, printLine, table } from '../terminal/output.js';
import { endProgress, showProgress } from '../terminal/progress.js';
import { addGroup, addHelp } from './help.js';

const POLL_MS = 500;
const CALL_MS = 2000;

interface TryOptions {
  nodes: number;
  port: number;
  natsServer: string;
  servers?: string[];
}

export function addCluster(program: Command): void {
  const cluster = addGroup(program, 'cluster', 'try a cluster on this machine');
  cluster
    .command('try')
    .description(
      'start a NATS server and several nodes with demo bots, show what happens, and remove everything on Ctrl-C',
    )
    .addOption(new Option('--nodes <number>', 'number of nodes').argParser(count).default(3))
    .addOption(
      new Option('--port <port>', 'port of the first node; the others have the next ones')
        .argParser(wholeNumber)
        .default(8090),
    )
    .option('--nats-server <path>', 'the program of the NATS server', 'nats-server')
    .option(
      '--servers <addresses>',
      'use these NATS servers, which run already, instead of starting one (comma-separated)',
      list,
    )
    .action(action(tryCluster));
  addHelp(cluster);
}

async function tryCluster(options: TryOptions): Promise<never> {
  const cluster = new TryCluster((name, how) => void say(`${name} ${how}`));
  try {
    showProgress('starting NATS');
    const { servers: given } = options;
    const servers = await cluster.startNats(given ? null : options.natsServer, given ?? []);
    showProgress('starting the nodes');
    const nodes = await Promise.all(
      Array.from({ length: options.nodes }, (_, at) =>
        cluster.startNode(`h${at + 1}`, options.port && options.port + at, servers),
      ),
    );
    endProgress();
    await introduce(nodes, servers);
    return await follow(nodes, cluster.ended);
  } finally {
    await cluster.stop();
  }
}

async function introduce(nodes: readonly TryNode[], servers: readonly string[]): Promise<void> {
  const rows = nodes.map(({ name, url, pin }) => [name, url, pin]);
  await print(table(['NODE', 'DASHBOARD', 'PIN'], rows));
  const [first] = nodes;
  await printLine(
    `NATS: ${servers.join(', ')}. Try: drover login --url ${first?.url} --pin ${first?.pin}; drover nodes; drover nodes drain h1; kill a node. Ctrl-C removes everything.`,
  );
}

/** Prints changes until a signal. @throws CliError when the cluster cannot continue. */
async function follow(nodes: readonly TryNode[], ended: AbortSignal): Promise<never> {
  const clients = nodes.map(({ url, pin }) => new NodeClient(url, pin));
  let before: ClusterLook | null = null;
  while (!ended.aborted) {
    const now = await firstOf(clients);
    if (now && !ended.aborted) {
      for (const line of changesOf(before, now)) await say(line);
      before = now;
    }
    await delay(POLL_MS, undefined, { signal: ended }).catch(() => {});
  }
  throw ended.reason;
}

/** What the first node says that is in the cluster. One that was frozen or cut off sees old figures. */
async function firstOf(clients: readonly NodeClient[]): Promise<ClusterLook | null> {
  let other: ClusterLook | null = null;
  for (const client of clients) {
    const look = await client.look().catch(() => null);
    if (look?.list.state === 'on') return look;
    other ??= look;
  }
  return other;
}

/** Uses a node with a token of its PIN. */
class NodeClient {
  #client: DroverClient;
  readonly #pin: string;

  constructor(url: string, pin: string) {
    this.#client = new DroverClient({ url });
    this.#pin = pin;
  }

  async look(): Promise<ClusterLook> {
    const signal = limit(CALL_MS);
    if (this.#client.token === undefined) {
      const token = await this.#client.exchangePin(this.#pin, { signal });
      this.#client = this.#client.withToken(token);
    }
    const list = await this.#client.nodes({ signal });
    return { list, bots: await this.#client.bots.list({ signal }) };
  }
}

function say(line: string): Promise<void> {
  return printLine(`${new Date().toISOString().slice(11, 19)}  ${line}`);
}
