// Writes while NATS is away: a bot runs only under a record that the cluster has, and what the cluster cannot have is refused.

import { expect, it, onTestFinished } from 'vitest';
import { BotRecords } from '../../src/cluster/control/bot-records.js';
import { clusterNames } from '../../src/cluster/wire/names.js';
import type { NatsConnection } from '../../src/cluster/wire/nats.js';
import { Signer } from '../../src/cluster/wire/signer.js';
import { type Answer, call, expectError } from '../harness/api.js';
import { act, create, eventually, POST, remove } from '../harness/bots.js';
import { type ServiceNode, TestCluster } from '../harness/cluster.js';
import { listTokens } from '../harness/tokens.js';
import { allJoined, botsOf, CONFIG, createWitnesses, expectOnce, nodesOf } from './service.js';

/** Of a change that the cluster does not have: nothing of it is stored. */
const REFUSED = /^the cluster does not accept the change: /;

async function start(config: object = {}): Promise<TestCluster> {
  const cluster = await TestCluster.start({ config: { ...CONFIG, ...config } });
  onTestFinished(() => cluster.stop());
  await allJoined(cluster);
  return cluster;
}

const ownBots = async ({ service }: ServiceNode): Promise<string[]> =>
  (await botsOf(service, '?node=self')).map(({ id, status }) => `${id} ${status}`).sort();

const untilCutOff = (node: ServiceNode): Promise<void> =>
  eventually(
    async () => (await nodesOf(node.service)).state === 'cut_off',
    `${node.name} to be cut off`,
  );

it('a node that is cut off refuses what the cluster cannot have, and the same id elsewhere runs once', async () => {
  const cluster = await start();
  const [cut, other] = [cluster.node(0), cluster.node(1)];
  await createWitnesses(cluster, cut, 1, {}, { node: 'h1', failover: 'stay' }, 'keeps');
  await createWitnesses(cluster, cut, 1, {}, { node: 'h1' }, 'moves');
  await cluster.witness.all(['keeps1', 'moves1']);
  await cut.links.cut('refused');
  await cluster.witness.until(
    () => !cluster.witness.present.includes('moves1'),
    () => 'the bot that needs the lease to stop',
  );
  await untilCutOff(cut);
  const { service } = cut;
  const both = { id: 'both', kind: 'witness', config: cluster.witnessAt };
  expectError(await create(service, both), 503, REFUSED);
  expectError(await create(service, { ...both, node: 'h1', failover: 'stay' }), 503, REFUSED);
  const change = (id: string): Promise<Answer> =>
    call(service, 'PATCH', `/api/bots/${id}`, { body: { labels: { changed: 'yes' } } });
  expectError(await change('moves1'), 503, REFUSED);
  expectError(await act(service, 'moves1', 'stop'), 503, REFUSED);
  expectError(await act(service, 'moves1', 'start'), 503, /lost the cluster/);
  expectError(await remove(service, 'moves1'), 503, REFUSED);
  const { json } = await POST(service, '/api/bots/actions', { action: 'delete', ids: ['moves1'] });
  expect(json).toMatchObject({ results: { moves1: { error: expect.stringMatching(REFUSED) } } });
  expectError(await POST(service, '/api/nodes/rebalance'), 503);
  const tokenIds = async (): Promise<string[]> => (await listTokens(service)).map(({ id }) => id);
  const tokens = await tokenIds();
  const token = { name: 'new', scopes: ['read'] };
  expectError(await POST(service, '/api/tokens', token), 503, /^the cluster does not accept the /);
  expect(await tokenIds()).toEqual(tokens);
  // No other node may run it, and the disk of this one has the change.
  expect((await change('keeps1')).status).toBe(200);
  expect(await ownBots(cut)).toEqual(['keeps1 online', 'moves1 stopped']);
  const made = await create(other.service, both);
  expect(made.status, made.text).toBe(201);
  await cluster.witness.all(['both'], (pid) => pid !== cut.pid);
  // What was changed on the disk must not be forgotten with the process.
  await cut.kill();
  await cut.links.join();
  await cut.start();
  await allJoined(cluster);
  await cluster.witness.all(['both', 'keeps1', 'moves1']);
  await eventually(
    async () =>
      (await botsOf(other.service, '?query=label:changed=yes')).map(({ id }) => id).join() ===
      'keeps1',
    'the change of the bot that stays',
  );
  expect(await ownBots(cut)).toEqual(['keeps1 online', 'moves1 online']);
  const moves = await call(other.service, 'PATCH', '/api/bots/keeps1', { body: { labels: {} } });
  expect(moves.json).toMatchObject({ id: 'keeps1', node: 'h1', labels: {} });
  expectOnce(cluster);
});

it('with all of NATS down no node takes a new bot, and those of the configuration wait', async () => {
  const bots = [{ id: 'configured', kind: 'faulty' }];
  const cluster = await start({ bots });
  const [server] = cluster.nats;
  const everywhere = async (): Promise<string[]> =>
    (await Promise.all(cluster.awake.map(ownBots))).flat();
  await eventually(async () => (await everywhere()).join() === 'configured online', 'one of it');
  await server?.kill();
  await Promise.all(cluster.nodes.map(untilCutOff));
  for (const { service } of cluster.nodes) {
    expectError(await create(service, { id: 'new', kind: 'faulty' }), 503, REFUSED);
  }
  // Without its data the node that starts knows of no bot that the cluster has.
  const [, , fresh] = cluster.nodes;
  await fresh?.stop();
  const again = await cluster.add();
  await again.start();
  expect(await ownBots(again)).toEqual(['configured stopped']);
  expectError(await create(again.service, { id: 'new', kind: 'faulty' }), 503);
  expectError(await act(again.service, 'configured', 'start'), 503);
  await server?.run();
  await allJoined(cluster);
  await eventually(
    async () => (await everywhere()).join() === 'configured online',
    'the configured bot to run once',
  );
  const made = await create(again.service, { id: 'new', kind: 'faulty' });
  expect(made.status, made.text).toBe(201);
});

it('a bot whose id the cluster has is named where it was left, holds no drain up, and can be removed', async () => {
  const cluster = await TestCluster.start({ config: CONFIG, nodes: 2 });
  onTestFinished(() => cluster.stop());
  await allJoined(cluster);
  const [first] = cluster.nodes;
  const joining = await cluster.add();
  // As a single service.
  await joining.start({ config: CONFIG });
  const both = { id: 'both', kind: 'faulty' };
  expect((await create(joining.service, both)).status).toBe(201);
  await joining.stop();
  const { service } = first as ServiceNode;
  const made = await create(service, { ...both, node: 'h1' });
  expect(made.status, made.text).toBe(201);
  await joining.start();
  await allJoined(cluster);
  const reason = 'not started: the cluster has another bot with its id, on the node h1';
  const h3 = async () => (await nodesOf(service)).nodes.find(({ node }) => node === 'h3');
  await eventually(async () => (await h3())?.leftovers?.length === 1, 'the leftover to be told');
  expect(await h3()).toMatchObject({
    figures: { bots: 0, running: 0 },
    leftovers: [{ bot: 'both', reason }],
  });
  expect(await botsOf(joining.service, '?node=self')).toMatchObject([
    { id: 'both', status: 'stopped', last_error: reason },
  ]);
  expect((await POST(service, '/api/nodes/h3/drain')).json).toMatchObject({ state: 'draining' });
  // One that names its node cannot leave it, and is named.
  expect((await POST(service, '/api/nodes/h1/drain')).status).toBe(200);
  const h1 = async () => (await nodesOf(joining.service)).nodes.find(({ node }) => node === 'h1');
  await eventually(async () => (await h1())?.stuck?.length === 1, 'what h1 waits for');
  expect(await h1()).toMatchObject({
    stuck: [{ bot: 'both', reason: expect.stringContaining('names the node h1') }],
  });
  const gone = await call(service, 'DELETE', '/api/bots/both?node=h3');
  expect(gone.status, gone.text).toBe(204);
  await eventually(async () => (await h3())?.leftovers?.length === 0, 'the leftover to be gone');
  expect(await botsOf(joining.service, '?node=self')).toEqual([]);
  expect(await botsOf(joining.service)).toMatchObject([{ id: 'both', node: 'h1' }]);
});

/** As a request to delete it whose answer is lost does. */
async function removeRecord(cluster: TestCluster, id: string): Promise<void> {
  const nats = (await cluster.nats[0]?.connect()) as NatsConnection;
  const { bots: bucket } = clusterNames('test');
  const records = new BotRecords(nats, { bucket, replicas: 1, signer: Signer.NONE, say() {} });
  await eventually(() => records.get(id) !== undefined, 'the record');
  await records.remove(id, () => true);
  records.close();
}

/** A node with a bot whose record is removed, and which is killed before it could say so. */
async function killedAfterRemoval(
  config?: object,
): Promise<{ cluster: TestCluster; node: ServiceNode; id: string }> {
  const cluster = await start(config);
  const [, node] = cluster.nodes as [ServiceNode, ServiceNode];
  const [id = ''] = await createWitnesses(cluster, node, 1, {}, { node: node.name });
  await cluster.witness.all([id]);
  node.suspend();
  await removeRecord(cluster, id);
  await node.kill();
  return { cluster, node, id };
}

const listNoBot = (nodes: readonly ServiceNode[]): Promise<void> =>
  eventually(async () => {
    const lists = await Promise.all(nodes.map(({ service }) => botsOf(service)));
    return lists.flat().length === 0;
  }, 'all nodes to list no bot');

it('a bot whose record is removed is gone on each node', async () => {
  const cluster = await start();
  const [id = ''] = await createWitnesses(cluster, cluster.node(0), 1, {}, { node: 'h2' });
  await cluster.witness.all([id]);
  await removeRecord(cluster, id);
  await listNoBot(cluster.nodes);
});

it('a bot whose record is removed is gone when its node is lost before it could say so', async () => {
  const { cluster, node } = await killedAfterRemoval();
  await listNoBot(cluster.awake);
  await node.start();
  await allJoined(cluster);
  await listNoBot(cluster.nodes);
});

it('a bot that was deleted is gone when its node was killed before it could say so, and is back at once', async () => {
  // Nobody says that the node is lost.
  const { cluster, node, id } = await killedAfterRemoval({ cluster: { lease_ms: 60_000 } });
  // Its disk does not have it.
  await node.start({ config: CONFIG });
  expect((await remove(node.service, id)).status).toBe(204);
  await node.stop();
  await node.start();
  await allJoined(cluster);
  await listNoBot(cluster.nodes);
});
