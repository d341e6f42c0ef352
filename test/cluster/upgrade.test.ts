// Nodes of several releases in one cluster: an upgrade that goes from node to node, while clients and bots run on.

import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { jetstreamManager, Kvm } from '../../src/cluster/wire/nats.js';
import { call } from '../harness/api.js';
import { eventually, invoke, POST } from '../harness/bots.js';
import { type ServiceNode, TestCluster } from '../harness/cluster.js';
import { HoppingClient, presentNumber } from '../harness/hopping-client.js';
import { buildRelease } from '../harness/release.js';
import { makeDir, removeDir } from '../harness/service.js';
import { makeToken, revoke } from '../harness/tokens.js';
import { allJoined, botsOf, CONFIG, createWitnesses, expectOnce, nodeOf } from './service.js';

/** What the messages and records of the other release have, and this one has not. */
const ADDED = 'added_later: { by: "the next release", list: [1, null] }';
const NEXT = '0.99.0';

let dir: string;
/** The command of a release that reads version 2, and writes what `WRITES` says. */
let next: string;
let cluster: TestCluster;
let ids: string[];
beforeAll(async () => {
  dir = makeDir();
  const inEach = (file: string) => ({
    file,
    from: /\bv: PROTOCOL,/,
    to: `${ADDED}, v: PROTOCOL,`,
  });
  const stored = {
    from: 'JSON.stringify(value)',
    to: 'JSON.stringify({ ...value, added_again: 1 })',
  };
  next = buildRelease(path.join(dir, 'next'), {
    version: NEXT,
    changes: [
      {
        file: 'src/cluster/wire/names.ts',
        from: 'PROTOCOL: number = 1',
        to: 'PROTOCOL: number = Number(process.env["WRITES"])',
      },
      {
        file: 'src/cluster/wire/names.ts',
        from: 'READABLE: number = 1',
        to: 'READABLE: number = 2',
      },
      ...[
        'src/cluster/bus/block-writer.ts',
        'src/cluster/wire/call-server.ts',
        'src/cluster/wire/calls.ts',
        'src/cluster/control/cluster-store.ts',
        'src/cluster/control/leader.ts',
        'src/cluster/control/token-sync.ts',
        'src/cluster/control/tokens-bucket.ts',
      ].map(inEach),
      { file: 'src/cluster/control/bucket.ts', ...stored },
      {
        file: 'src/cluster/control/membership.ts',
        from: 'JSON.stringify(this.#record())',
        to: `JSON.stringify({ ...this.#record(), ${ADDED} })`,
      },
    ],
  });
  cluster = await TestCluster.start({ config: CONFIG });
  await allJoined(cluster);
  ids = await createWitnesses(cluster, cluster.node(0), 9, { log_ms: 50 });
  await cluster.witness.all(ids);
});
afterAll(async () => {
  await cluster?.stop();
  if (dir) removeDir(dir);
});

/** As docs/CLUSTER.md says it: drain, stop, install, start, uncordon. */
async function upgrade(node: ServiceNode, writes: number): Promise<void> {
  const other = cluster.nodes.find((one) => one !== node) as ServiceNode;
  expect((await POST(other.service, `/api/nodes/${node.name}/drain`)).status).toBe(200);
  await eventually(
    async () => (await botsOf(other.service)).every((bot) => bot.node !== node.name),
    'the drained node to have no bots',
  );
  await node.stop();
  Object.assign(node.options, { cli: next, env: { WRITES: String(writes) } });
  await node.start();
  expect((await POST(node.service, `/api/nodes/${node.name}/uncordon`)).status).toBe(200);
  await allJoined(cluster);
}

/** What users do, from each node to each other. */
async function works(): Promise<void> {
  for (const { service } of cluster.nodes) {
    const bots = await botsOf(service);
    expect(bots.map(({ id }) => id).sort()).toEqual([...ids].sort());
    for (const { id } of bots) {
      const { json } = await invoke(service, id, 'term');
      expect([id, json]).toEqual([id, { result: cluster.witness.termOf(id) }]);
    }
  }
  const [first, second, third] = cluster.nodes.map(({ service }) => service);
  if (!first || !second || !third) throw new Error('three nodes');
  for (const [made, revoked] of [
    [first, third],
    [third, first],
  ] as const) {
    const { token, id } = await makeToken(made);
    // Each node learns it on its own.
    for (const service of [second, revoked])
      await eventually(
        async () => (await call(service, 'GET', '/api/bots', { token })).status === 200,
        'the token on the other nodes',
      );
    expect((await revoke(revoked, id)).status).toBe(204);
    for (const { service } of cluster.nodes)
      expect((await call(service, 'GET', '/api/bots', { token })).status).toBe(401);
  }
}

async function upgradeAll(writes: number): Promise<void> {
  const client = new HoppingClient(await cluster.node(1).service.token());
  await client.hop(cluster.node(1));
  for (const [n, node] of cluster.nodes.entries()) {
    // To a node of this release, then to one of the other.
    await client.hop(cluster.node((n + 1) % 3));
    await upgrade(node, writes);
    await client.hop(node);
    // So that an older node has bots of a newer one, and a newer one those of an older.
    expect((await POST(node.service, '/api/nodes/rebalance')).status).toBe(200);
    await eventually(async () => {
      const bots = await botsOf(node.service);
      const places = bots.map((bot) => bot.node).sort();
      return (
        places.join() === 'h1,h1,h1,h2,h2,h2,h3,h3,h3' &&
        bots.every(({ status }) => status === 'online')
      );
    }, 'three bots on each node');
    await cluster.witness.all(ids);
    await works();
    for (const id of ids) await client.hears(id);
  }
  await client.reach(await presentNumber(cluster.node(0)));
  client.leave();
  expect(client.allFaults).toEqual([]);
  expect(client.ledger.gaps).toEqual([]);
  expectOnce(cluster);
}

const buckets = async (): Promise<string[]> => {
  const connection = await cluster.nats[0]?.connect();
  if (!connection) throw new Error('one server');
  const { streams } = await jetstreamManager(connection);
  const { nodes, bots, tokens, stream } = clusterNames('test');
  const names = [stream, ...[nodes, bots, tokens].map((bucket) => `KV_${bucket}`)];
  const all = await Promise.all(names.map((name) => streams.info(name)));
  return all.map(({ config }) => config.description ?? '');
};

it('fields of a newer node outlast that an older one changes the record', async () => {
  const connection = await cluster.nats[0]?.connect();
  if (!connection) throw new Error('one server');
  const records = await new Kvm(connection).open(clusterNames('test').bots);
  const [id = ''] = ids;
  const entry = await records.get(id);
  const record = entry?.json<{ spec: object; node: string; term: number }>();
  if (!entry || !record) throw new Error('no record');
  // A newer node had the bot, and its leader has given it to one of this release.
  const node = record.node === 'h1' ? 'h2' : 'h1';
  const given = { node, term: record.term + 1, state: 'placing' };
  const newer = { ...record, ...given, added: 1, spec: { ...record.spec, added: { deep: 2 } } };
  await records.update(id, JSON.stringify(newer), entry.revision);
  await cluster.witness.until(
    () => cluster.witness.termOf(id) === given.term,
    () => 'the bot on the node that it was given to',
  );
  expect((await POST(cluster.node(0).service, `/api/nodes/${node}/drain`)).status).toBe(200);
  await eventually(
    async () => (await botsOf(cluster.node(0).service)).every((bot) => bot.node !== node),
    'the bot to move',
  );
  await cluster.witness.all(ids);
  const labels = { changed: 'yes' };
  const changed = await call(cluster.node(0).service, 'PATCH', `/api/bots/${id}`, {
    body: { labels },
  });
  expect(changed.status, changed.text).toBe(200);
  await eventually(async () => {
    const { spec } = (await records.get(id))?.json<{ spec: { labels: object } }>() ?? {};
    return JSON.stringify(spec?.labels) === JSON.stringify(labels);
  }, 'the record of the changed bot');
  expect((await records.get(id))?.json()).toMatchObject({
    added: 1,
    spec: { id, labels, added: { deep: 2 } },
  });
  expect((await POST(cluster.node(0).service, `/api/nodes/${node}/uncordon`)).status).toBe(200);
});

it('from node to node: no event is missing, no bot runs twice, and each node controls all bots', async () => {
  // The next release writes the same version, and reads one more.
  await upgradeAll(1);
  expect((await nodeOf(cluster.node(0).service, 'h2'))?.version).toBe(NEXT);
  expect(new Set(await buckets())).toEqual(new Set(['drover protocol 1']));
  // The release after it writes the new version.
  await upgradeAll(2);
  expect(new Set(await buckets())).toEqual(new Set(['drover protocol 2']));
  // A node that does not read it is refused, and the others continue.
  const node = cluster.node(2);
  await node.stop();
  Object.assign(node.options, { cli: undefined, env: undefined });
  const started = node.start().then(() => 'it has started');
  await expect(started).rejects.toThrow(
    /the NATS bucket drover-test-[a-z]+ has version 2; Drover \S+ knows version 1: update this node\n/,
  );
  cluster.nodes.pop();
  await allJoined(cluster);
  await cluster.witness.all(ids);
  expectOnce(cluster);
  // What a test has started ends with it.
  await Promise.all(cluster.nodes.map((one) => one.stop()));
}, 300_000);
