// Runs in the command line. Owns `drover cluster try`: a temporary cluster on this machine.

import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { DroverClient } from '../../client/index.js';
import { type ClusterLook, changesOf } from '../cluster/cluster-changes.js';
import { TryCluster, type TryNats, type TryNode } from '../cluster/try-cluster.js';
import { limit } from '../connection/connection.js';
import { profilePath, removeProfile, writeProfile } from '../connection/profile.js';
import { count, list, wholeNumber } from '../flags/flag-values.js';
import { action } from '../terminal/action.js';
import { print, printLine, table } from '../terminal/output.js';
import { endProgress, showProgress } from '../terminal/progress.js';
import { addGroup, addHelp } from './help.js';

const POLL_MS = 500;
const CALL_MS = 2000;
/** Name of the profile, which exists as long as the cluster. */
const PROFILE = 'cluster-try';
const PROFILE_PATH = (): string => profilePath(PROFILE, process.env);

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
      new Option('--port <port>', 'port of the first node; the others use the ports after it')
        .argParser(wholeNumber)
        .default(8090),
    )
    .option('--nats-server <path>', 'path of the NATS server program', 'nats-server')
    .option(
      '--servers <addresses>',
      'use these running NATS servers instead of starting one (comma-separated)',
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
    const nats = await cluster.startNats(given ? null : options.natsServer, given ?? []);
    showProgress('starting the nodes');
    const nodes = await Promise.all(
      Array.from({ length: options.nodes }, (_, at) =>
        cluster.startNode(`h${at + 1}`, options.port && options.port + at, nats.servers),
      ),
    );
    endProgress();
    const clients = nodes.map(({ url, pin }) => new NodeClient(url, pin));
    await saveProfile(clients);
    await introduce(nodes, nats);
    return await follow(clients, cluster.ended);
  } finally {
    removeProfile(PROFILE_PATH());
    await cluster.stop();
  }
}

/** With a token that all nodes accept; a node that was killed is passed over. */
async function saveProfile([first, ...others]: readonly NodeClient[]): Promise<void> {
  if (!first) return;
  const { url, token } = await first.withToken();
  writeProfile(PROFILE_PATH(), {
    url,
    token: token ?? '',
    ...(others.length > 0 && { others: others.map((one) => one.url) }),
  });
}

async function introduce(nodes: readonly TryNode[], { servers, pid }: TryNats): Promise<void> {
  const rows = nodes.map((node) => [node.name, node.url, node.pin, String(node.pid)]);
  await print(table(['NODE', 'DASHBOARD', 'PIN', 'PROCESS'], rows));
  const natsPid = pid === null ? '' : ` (process ${pid})`;
  const freeze =
    pid === null ? '' : `kill -STOP ${pid} freezes NATS, kill -CONT ${pid} ends that. `;
  await printLine(
    `NATS: ${servers.join(', ')}${natsPid}. Try: export DROVER_PROFILE=${PROFILE}; drover nodes; drover nodes drain h1; kill -9 ${nodes.at(-1)?.pid}. ${freeze}Ctrl-C removes everything.`,
  );
}

/** Prints changes until a signal. @throws CliError when the cluster cannot continue. */
async function follow(clients: readonly NodeClient[], ended: AbortSignal): Promise<never> {
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

/** The answer of the first node that is in the cluster: one that was frozen or cut off has old figures. */
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

  get url(): string {
    return this.#client.url;
  }

  async withToken(signal = limit(CALL_MS)): Promise<DroverClient> {
    if (this.#client.token === undefined) {
      const token = await this.#client.exchangePin(this.#pin, { signal });
      this.#client = this.#client.withToken(token);
    }
    return this.#client;
  }

  async look(): Promise<ClusterLook> {
    const signal = limit(CALL_MS);
    const client = await this.withToken(signal);
    const list = await client.nodes({ signal });
    return { list, bots: await client.bots.list({ signal }) };
  }
}

function say(line: string): Promise<void> {
  return printLine(`${new Date().toISOString().slice(11, 19)}  ${line}`);
}
