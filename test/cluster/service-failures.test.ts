// Nodes that die, freeze and are cut off: their bots run elsewhere, never twice at once, as the witness sees it.

import { expect, it, onTestFinished } from 'vitest';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { eventually } from '../harness/bots.js';
import { type ClusterOptions, type ServiceNode, TestCluster } from '../harness/cluster.js';
import { HoppingClient, presentNumber } from '../harness/hopping-client.js';
import { leaderOf, SilenceMeter } from '../harness/nats.js';
import { allJoined, botsOf, CONFIG, createWitnesses, expectOnce, statesOf } from './service.js';

async function start(options: ClusterOptions = {}): Promise<TestCluster> {
  const cluster = await TestCluster.start({ config: CONFIG, ...options });
  onTestFinished(() => cluster.stop());
  await allJoined(cluster);
  return cluster;
}

/** Starts one node with bots, which is alone at that time, and then two more. */
async function startWithAll(
  count: number,
  options: ClusterOptions = {},
): Promise<{ cluster: TestCluster; full: ServiceNode; ids: string[] }> {
  const cluster = await start({ nodes: 1, ...options });
  const full = cluster.node(0);
  const ids = await createWitnesses(cluster, full, count);
  await cluster.witness.all(ids);
  const others = [await cluster.add(), await cluster.add()];
  await Promise.all(others.map((node) => node.start()));
  await allJoined(cluster);
  return { cluster, full, ids };
}

// Each of its waits may take as long as one of another test: 200 bots start twice.
it('a node with 200 bots is killed: all of them run elsewhere, each once', {
  timeout: 300_000,
}, async () => {
  const { cluster, full, ids } = await startWithAll(200);
  const { pid } = full;
  const client = new HoppingClient(await cluster.node(1).service.token());
  await client.hop(cluster.node(1));
  const killed = performance.now();
  await full.kill();
  await cluster.witness.all(ids, (now) => now !== pid);
  const tookMs = Math.round(performance.now() - killed);
  process.stderr.write(`200 bots ran elsewhere ${tookMs} ms after kill -9, lease 5,000 ms\n`);
  // Nobody may start them before the lease has run out, as far as the test can tell when it was last renewed.
  expect(tookMs).toBeGreaterThan((cluster.leaseMs * 2) / 3);
  const wanted = ids.map((id) => `${id} online`).sort();
  for (const node of cluster.awake)
    await eventually(async () => {
      const bots = await botsOf(node.service);
      expect(new Set(bots.map((bot) => bot.node))).not.toContain('h1');
      const shown = bots.map(({ id, status }) => `${id} ${status}`).sort();
      return shown.join() === wanted.join();
    }, 'the bots in the list of each node');
  const end = await presentNumber(cluster.node(2));
  await client.reach(end);
  client.leave();
  expect(client.allFaults).toEqual([]);
  expectOnce(cluster);
  // It comes back with nothing to run.
  await full.start();
  await allJoined(cluster);
  expectOnce(cluster);
  for (const id of ids) expect(cluster.witness.pidOf(id)).not.toBe(full.pid);
});

it('a node is frozen beyond its lease: when it wakes, nothing of an older term is sent', async () => {
  const { cluster, full, ids } = await startWithAll(20);
  const { pid } = full;
  full.suspend();
  await cluster.witness.all(ids, (now) => now !== pid);
  full.resume();
  await allJoined(cluster);
  await eventually(
    () => cluster.witness.overlaps.length > 0 || cluster.witness.violations.length > 0,
    'connections of the frozen node that were open',
  );
  expectOnce(cluster, [pid]);
  await eventually(
    async () =>
      (await botsOf(full.service, '?node=self')).every(({ status }) => status !== 'online'),
    'the frozen node to have no bots',
  );
  for (const id of ids) expect(cluster.witness.pidOf(id)).not.toBe(pid);
});

it.for(['silent', 'refused'] as const)(
  'a node is cut off from NATS (%s): it stops its bots before others start them',
  async (how) => {
    const { cluster, full, ids } = await startWithAll(20);
    const stays = await createWitnesses(
      cluster,
      full,
      2,
      {},
      { node: 'h1', failover: 'stay' },
      'stay',
    );
    await cluster.witness.all(stays);
    const { pid } = full;
    await full.links.cut(how);
    await cluster.witness.all(ids, (now) => now !== pid);
    expectOnce(cluster);
    await eventually(
      async () => (await statesOf(cluster.node(1).service)).includes('h1 lost'),
      'the node to be lost',
    );
    // Those that stay run on.
    expect(stays.map((id) => cluster.witness.pidOf(id))).toEqual([pid, pid]);
    const own = await botsOf(full.service, '?node=self');
    expect(
      own
        .filter(({ status }) => status === 'online')
        .map(({ id }) => id)
        .sort(),
    ).toEqual(stays);
    await full.links.join();
    await allJoined(cluster);
    expectOnce(cluster);
    await cluster.witness.all(stays, (now) => now === pid);
    await cluster.witness.all(ids, (now) => now !== pid);
  },
);

/** Each death can cost JetStream an election or two, of its meta group and of each bucket: 30 s each on a busy machine. */
const ELECTIONS_MS = 120_000;
/** Silence that costs no lease, in parts of it: less than docs/CLUSTER.md has, because all nodes share this machine. */
const SURVIVES = 2 / 3;

it('one of three NATS servers dies: nothing happens to bots', {
  timeout: 7 * ELECTIONS_MS,
}, async () => {
  // Within a lease: a node that cannot renew its lease stops its bots, however many servers are left.
  const cluster = await start({ servers: 3, leaseMs: ELECTIONS_MS });
  const ids = await createWitnesses(cluster, cluster.node(0), 9);
  await cluster.witness.all(ids);
  // A bot that starts again in the same process connects again.
  const { visits } = cluster.witness;
  for (const server of cluster.nats) {
    await server.kill();
    await allJoined(cluster, cluster.awake, ELECTIONS_MS);
    await server.run();
    await allJoined(cluster, cluster.awake, ELECTIONS_MS);
  }
  expect(cluster.witness.visits).toBe(visits);
  expectOnce(cluster);
});

it('the NATS server that leads the leases is killed: no bot stops', {
  timeout: 7 * ELECTIONS_MS,
}, async () => {
  const cluster = await start({ servers: 3, leaseMs: 10_000 });
  const { nodes } = clusterNames('test');
  const ids = await createWitnesses(cluster, cluster.node(0), 9);
  await cluster.witness.all(ids);
  // Nodes leave reserved keys alone.
  const meter = await SilenceMeter.start(cluster.nats, `$KV.${nodes}._silence`);
  onTestFinished(() => meter.close());
  for (let round = 0; round < 2; round++) {
    const { visits } = cluster.witness;
    meter.take();
    const server = await leaderOf(cluster.nats, `KV_${nodes}`);
    await server.kill();
    await allJoined(cluster, cluster.awake, ELECTIONS_MS);
    await leaderOf(cluster.nats, `KV_${nodes}`);
    const silentMs = meter.take();
    process.stderr.write(`leases could not be renewed for ${silentMs} ms, lease 10,000 ms\n`);
    await cluster.witness.all(ids);
    // JetStream may need longer where no core is free: docs/CLUSTER.md says what a lease survives, and nothing of more than that.
    if (silentMs < SURVIVES * cluster.leaseMs) expect(cluster.witness.visits).toBe(visits);
    await server.run();
    await allJoined(cluster, cluster.awake, ELECTIONS_MS);
  }
  expectOnce(cluster);
});
