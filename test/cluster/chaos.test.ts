// Everything that can happen to the nodes, the NATS servers and the network of a cluster, while bots and tokens are changed on every node.
// A witness outside of it, to which each bot is connected, never sees two of a bot. In the end every change that was acknowledged is true,
// and clients account for every event.
//
// This is the short form, each fault once. `npm run long -- chaos-cluster` (chaos.mjs) sets the environment for the long one, where a seed chooses
// the faults, several at once, and where the health of nodes is judged too: that takes a machine with time for it.

import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { natsRisk } from '../../src/cluster/wire/nats-version.js';
import { TestCluster } from '../harness/cluster.js';
import { natsVersion } from '../harness/nats.js';
import { requireTool, skipWithout } from '../harness/needs.js';
import { randomFrom } from '../harness/random.js';
import { mountSmallDisk, type SmallDisk } from '../harness/small-disk.js';
import { Clocks, Faults } from './chaos-faults.js';
import { ChaosRun } from './chaos-run.js';
import { CONFIG } from './service.js';

const given = (name: string, otherwise: number): number =>
  Number(process.env[`CHAOS_${name}`] ?? otherwise);
const minutes = given('MINUTES', 0);
const bots = given('BOTS', 12);
const seed = given('SEED', Date.now() % 1_000_000);
const leaseMs = given('LEASE', 4000);
const NODES = 3;
/** Copies on versions that lose what they have acknowledged prove nothing (CLUSTER.md, "What NATS loses"). */
const servers = given('SERVERS', natsRisk(natsVersion(), 3) === null ? 3 : 1);
/** A round of the long form: faults of nodes and of NATS at the same time, then a deletion. */
const ROUND_MS = 90_000;
const DISK_MB = 96;
/** What CLUSTER.md promises, and the time to see it on a busy machine. */
const STALL_MS = 5000 + 5000;
const MB = 1_048_576;

it(`what was acknowledged is true after all faults, and no bot was ever two (CHAOS_SEED=${seed})`, {
  // Only ends a run that hangs.
  timeout: minutes * 60_000 + 900_000,
}, async (context) => {
  requireTool('faketime', 'faketime');
  requireTool('python3', 'python3');
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-chaos-'));
  const timeline: string[] = [];
  const began = performance.now();
  const say = (line: string): void => {
    const at = `${((performance.now() - began) / 1000).toFixed(1)} s: ${line}`;
    timeline.push(at);
    if (process.env['CHAOS_PROGRESS']) process.stderr.write(`${at}\n`);
  };
  const random = randomFrom(seed);
  const disks = new Map<string, SmallDisk>();
  let cluster: TestCluster | undefined;
  onTestFinished(() => cluster?.stop());
  cluster = await TestCluster.prepare({
    servers,
    leaseMs,
    namespaces: true,
    config: { ...CONFIG, journal: { max_bytes: 24 * MB }, cluster: { window_bytes: 24 * MB } },
    mount: (at) => void disks.set(at, mountSmallDisk(context, at, DISK_MB)),
  });
  skipWithout(context, cluster.hasNamespaces, 'the right to make network namespaces');
  const clocks = new Clocks(dir);
  const logs: number[] = [];
  for (let n = 0; n < NODES; n++) {
    const node = await cluster.add();
    const log = openSync(path.join(dir, `${node.name}.log`), 'a');
    logs.push(log);
    Object.assign(node.options, { env: clocks.of(node.name), stderr: log });
  }
  onTestFinished(() => logs.forEach(closeSync));
  await Promise.all(cluster.nodes.map((node) => node.start()));
  const faults = new Faults({ cluster, clocks, disks, random, say });
  const run = new ChaosRun(cluster, faults, { bots, random, say });
  say(
    `seed ${seed}, ${servers} NATS servers ${natsVersion()}, leases of ${leaseMs} ms, ${new Date().toISOString()}`,
  );
  try {
    await run.run(() => (minutes === 0 ? eachOnce(faults, run) : atRandom(faults, run, random)));
    if (minutes > 0) expect(run.stalls.filter(({ ms }) => ms > STALL_MS)).toEqual([]);
    rmSync(dir, { recursive: true });
  } catch (thrown) {
    keep(dir, { timeline, run, cluster });
    throw new Error(`${(thrown as Error).message}\n\nCHAOS_SEED=${seed}; evidence is in ${dir}`, {
      cause: thrown,
    });
  } finally {
    for (const line of run.summary) say(line);
  }
});

/** Those that take longest, and are much like others. */
const NOT_IN_SHORT = ['partition', 'a slow network'];

async function eachOnce(faults: Faults, run: ChaosRun): Promise<void> {
  const inOrder = async (names: string[], act: (name: string) => Promise<void>): Promise<void> => {
    for (const name of names) await act(name);
  };
  const [kill = '', ...others] = Object.keys(faults.ofNodes);
  // Alone: a node that joins while no other answers does not list bots of others until these change.
  await faults.onNode(kill);
  await Promise.all([
    inOrder(others, (name) => faults.onNode(name)),
    inOrder(
      Object.keys(faults.ofServers).filter((name) => !NOT_IN_SHORT.includes(name)),
      (name) => faults.onServer(name),
    ),
  ]);
  await run.deleted('stream');
  await run.deleted('bots');
}

async function atRandom(faults: Faults, run: ChaosRun, random: () => number): Promise<void> {
  const end = performance.now() + minutes * 60_000;
  const until = async (at: number, act: () => Promise<void>): Promise<void> => {
    while (performance.now() < at) await act();
  };
  const deletions = ['stream', 'bots', 'nodes', 'tokens'] as const;
  while (performance.now() < end) {
    const at = Math.min(end, performance.now() + ROUND_MS);
    await Promise.all([
      until(at, () => faults.onNode()),
      until(at, () => faults.onNode()),
      until(at, () => faults.onServer()),
    ]);
    await run.deleted(deletions[Math.floor(random() * deletions.length)] ?? 'stream');
  }
}

/** What a failed run leaves: the logs of the nodes are there already. */
function keep(
  dir: string,
  { timeline, run, cluster }: { timeline: string[]; run: ChaosRun; cluster: TestCluster },
): void {
  const write = (name: string, text: string): void => writeFileSync(path.join(dir, name), text);
  write('health.txt', `${run.said.join('\n')}\n`);
  write('timeline.txt', `${timeline.join('\n')}\n`);
  for (const [n, server] of cluster.nats.entries()) write(`nats${n + 1}.log`, server.output());
  const bots = run.model.bots.map(
    ({ id, fates, asked }) => `${id}: ${[...fates]}\n${asked.join('\n')}\n`,
  );
  write('changes.txt', bots.join(''));
  const { violations, overlaps } = cluster.witness;
  write('witness.json', JSON.stringify({ violations, overlaps }, null, 2));
  const events = [...run.texts.values()].flatMap((texts) => [...texts.values()]);
  write('events.txt', events.join('\n\n'));
}
