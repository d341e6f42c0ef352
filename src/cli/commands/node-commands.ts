// Runs in the command line. Owns `drover nodes`: the nodes of a cluster.

import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { ApiError, type ClusterNode, type NodeAction, type NodeList } from '../../client/index.js';
import { HELD_BOTS } from '../../shared/contract/nodes.js';
import { botsText } from '../../shared/counted.js';
import {
  type Connection,
  type ConnectionOptions,
  connect,
  limit,
  withConnection,
} from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { showDuration } from '../flags/duration.js';
import { duration } from '../flags/flag-values.js';
import { stopSignal } from '../stop-signals.js';
import { action, complain } from '../terminal/action.js';
import { print, printJson, printLine, table } from '../terminal/output.js';
import { elapsed, followProgress } from '../terminal/progress.js';
import { addGroup, addHelp } from './help.js';

const HEAD = [
  'NODE',
  'STATE',
  'LEADER',
  'BOTS',
  'RUNNING',
  'CPU',
  'MEMORY',
  'STREAMS',
  'VERSION',
  'LABELS',
];
const POLL_MS = 500;
const DRAIN_MS = 600_000;
/** When no bot has left for so long, in ms, and none can, the command gives up: a restarting node may accept them later. */
const STUCK_MS = 15_000;
/** Bots that a line names with their reasons. */
const NAMED = 5;

const DESCRIPTIONS: Readonly<Record<NodeAction, string>> = {
  cordon: 'assign no new bots to a node; it keeps those that it has',
  uncordon: 'let a node accept bots again, after cordon or drain',
  drain: 'move all bots of a node to others, and wait until it has none',
};

type Json = { json?: true };

interface DrainOptions extends ConnectionOptions, Json {
  wait: boolean;
  within: number;
}

interface RemoveOptions extends ConnectionOptions {
  moveBots?: true;
  deleteBots?: true;
}

export function addNodes(program: Command): void {
  const nodes = addGroup(program, 'nodes', 'list, cordon, drain and remove the nodes of a cluster');
  withConnection(
    nodes
      .command('list', { isDefault: true })
      .description('list the nodes of the cluster; the default'),
  )
    .option('--json', 'print the cluster and its nodes as JSON')
    .action(action(listNodes));
  for (const name of ['cordon', 'uncordon'] as const) {
    onNode(nodes, name).action(
      action((node: string, options: ConnectionOptions & Json) => act(node, name, options)),
    );
  }
  onNode(nodes, 'drain')
    .option('--no-wait', 'exit as soon as the drain has started')
    .addOption(
      new Option('--within <time>', 'fail if the drain takes longer than this')
        .argParser(duration)
        .default(DRAIN_MS, '10m'),
    )
    .action(action(drain));
  withConnection(
    nodes
      .command('rm')
      .description('remove a node that no longer runs, for good')
      .argument('<node>'),
  )
    .addOption(new Option('--move-bots', 'move its bots to other nodes').conflicts('deleteBots'))
    .option('--delete-bots', 'delete its bots')
    .action(action(removeNode));
  withConnection(
    nodes
      .command('rebalance')
      .description('move bots from full nodes to those with more room, once'),
  )
    .option('--json', 'print the number of bots that move as JSON')
    .action(action(rebalance));
  withConnection(
    nodes
      .command('remove-record')
      .description('remove an invalid record from a bucket of the cluster; nodes list shows them')
      .argument('<bucket>')
      .argument('<key>'),
  ).action(action(removeRecord));
  addHelp(nodes);
}

function onNode(nodes: Command, name: NodeAction): Command {
  return withConnection(
    nodes.command(name).description(DESCRIPTIONS[name]).argument('<node>'),
  ).option('--json', 'print the node as JSON');
}

async function listNodes(options: ConnectionOptions & Json): Promise<undefined> {
  const { client, call } = connect(options);
  const list = await client.nodes(call());
  if (options.json) await printJson(list);
  else if (list.state === 'off') await printLine('a single service; it is not in a cluster');
  else await print(table(HEAD, list.nodes.map(row)));
  if (list.reason !== null) complain(reasonOf(list));
  for (const node of list.nodes) complainOfLeftovers(node);
  for (const { bucket, key, reason } of list.bad_records ?? []) {
    complain(
      `the bucket ${bucket} has no record for ${key}: ${reason}; remove it with: drover nodes remove-record ${bucket} '${key}'`,
    );
  }
}

async function removeRecord(
  bucket: string,
  key: string,
  options: ConnectionOptions,
): Promise<undefined> {
  const { client, call } = connect(options);
  await client.removeRecord(bucket, key, call());
  await printLine(`the record of ${key} is removed from ${bucket}`);
}

function complainOfLeftovers({ node, leftovers = [] }: ClusterNode): void {
  for (const { bot, reason } of leftovers) {
    complain(
      `${node} has bot ${bot}, ${reason}; remove it with: drover bots rm ${bot} --left-on ${node}`,
    );
  }
}

function reasonOf({ state, reason }: NodeList): string {
  const what = state === 'joining' ? 'it has not joined the cluster yet' : 'it is cut off';
  return `${what}, and its data about other nodes may be old: ${reason}`;
}

function row(node: ClusterNode): string[] {
  const { figures, labels } = node;
  return [
    node.node,
    node.state,
    node.is_leader ? 'leader' : '-',
    String(figures.bots),
    String(figures.running),
    `${(figures.cpu * 100).toFixed(1)}%`,
    `${Math.round(figures.memory_mb)}M`,
    String(figures.streams),
    node.version,
    Object.entries(labels)
      .map((pair) => pair.join('='))
      .join(','),
  ];
}

async function act(
  name: string,
  what: NodeAction,
  options: ConnectionOptions & Json,
): Promise<undefined> {
  const { client, call } = connect(options);
  await show(await client.actOnNode(name, what, call()), options);
}

async function show(node: ClusterNode, { json }: Json): Promise<void> {
  if (json) await printJson(node);
  else await printLine(`${node.node} ${node.state}`);
}

async function drain(name: string, options: DrainOptions): Promise<undefined> {
  const connection = connect(options);
  const began = performance.now();
  const before = await connection.client.actOnNode(name, 'drain', connection.call());
  if (!options.wait) {
    await show(before, options);
    return;
  }
  let left = before.figures.bots;
  followProgress(
    () => `${name} has ${botsText(left)} left of ${before.figures.bots}: ${elapsed(began)}`,
  );
  const deadline = limit(options.within);
  const empty = await emptied(connection, name, deadline, (count) => {
    left = count;
  });
  stopSignal.throwIfAborted();
  if (empty === null) {
    throw new CliError(
      EXIT.timeout,
      `${name} still has ${botsText(left)} after ${showDuration(options.within)}; it continues to drain`,
    );
  }
  complainOfLeftovers(empty);
  if (options.json) await printJson(empty);
  else {
    const time = showDuration(performance.now() - began);
    await printLine(`${name} drained of ${botsText(before.figures.bots)} after ${time}`);
  }
}

/** Reads the node until it has no bots. @returns null at the deadline. @throws CliError when it drains no longer, or no bot can leave. */
async function emptied(
  { client, call }: Connection,
  name: string,
  deadline: AbortSignal,
  onCount: (bots: number) => void,
): Promise<ClusterNode | null> {
  let last = { bots: -1, since: 0 };
  while (!deadline.aborted) {
    const node = await find(client.nodes(call()), name);
    if (node) {
      onCount(node.figures.bots);
      const isLess = node.figures.bots !== last.bots || !isStuck(node);
      if (isLess) last = { bots: node.figures.bots, since: performance.now() };
      else if (performance.now() - last.since > STUCK_MS) throw stuckError(node);
      if (node.figures.bots === 0) return node;
      if (node.state !== 'draining') {
        const how = node.state === 'lost' ? 'its lease has run out' : `it is ${node.state} now`;
        throw new CliError(EXIT.failed, `${name} is no longer draining: ${how}`);
      }
    }
    await delay(POLL_MS, undefined, { signal: deadline }).catch(() => {});
  }
  return null;
}

/** Whether no other node accepts any of its bots, as far as they are named. */
function isStuck({ figures, stuck = [] }: ClusterNode): boolean {
  return stuck.length > 0 && stuck.length >= Math.min(figures.bots, HELD_BOTS);
}

function stuckError({ node, figures, stuck = [] }: ClusterNode): CliError {
  const named = stuck.slice(0, NAMED).map(({ bot, reason }) => `${bot}: ${reason}`);
  return new CliError(
    EXIT.failed,
    `${node} cannot move ${botsText(figures.bots)} away, and continues to drain; ${named.join('; ')}`,
  );
}

/** @returns undefined while the service does not answer, for example during a restart. */
async function find(asked: Promise<NodeList>, name: string): Promise<ClusterNode | undefined> {
  try {
    const { nodes } = await asked;
    const found = nodes.find(({ node }) => node === name);
    if (found) return found;
    throw new CliError(EXIT.not_found, `the cluster no longer has a node ${name}`);
  } catch (thrown) {
    stopSignal.throwIfAborted();
    if (thrown instanceof ApiError && thrown.isPassing) return undefined;
    throw thrown;
  }
}

async function rebalance(options: ConnectionOptions & Json): Promise<undefined> {
  const { client, call } = connect(options);
  const moving = await client.rebalance(call());
  if (options.json) await printJson({ moving });
  else await printLine(`${botsText(moving)} ${moving === 1 ? 'moves' : 'move'}`);
}

async function removeNode(
  name: string,
  { moveBots, deleteBots, ...options }: RemoveOptions,
): Promise<undefined> {
  const { client, call } = connect(options);
  const what = (moveBots && 'move') || (deleteBots && 'delete') || undefined;
  await client.removeNode(name, { ...call(), bots: what });
  await printLine(`${name} removed`);
}
