// What a node knows that joins while no other can tell it which bots there are.

import { expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { create, eventually } from '../harness/bots.js';
import { type ServiceNode, TestCluster } from '../harness/cluster.js';
import { allJoined, botsOf, CONFIG, nodeOf } from './service.js';

const isReady = (node: ServiceNode): Promise<void> =>
  eventually(
    async () => (await call(node.service, 'GET', '/ready', { token: null })).status === 200,
    'the node to have joined',
  );

it('learns of bots to which nothing happens as soon as their node answers', async () => {
  // The frozen node keeps its lease: nobody says that its bots are lost.
  const config = { ...CONFIG, cluster: { lease_ms: 60_000 } };
  const cluster = await TestCluster.start({ config, nodes: 2 });
  onTestFinished(() => cluster.stop());
  await allJoined(cluster);
  const [has, joins] = [cluster.node(0), cluster.node(1)];
  const bot = { id: 'silent', kind: 'synthetic', desired: 'stopped', node: has.name };
  expect((await create(has.service, bot)).status).toBe(201);
  await joins.stop();
  has.suspend();
  await joins.start();
  await isReady(joins);
  expect(await botsOf(joins.service)).toEqual([]);
  has.resume();
  await eventually(
    async () => (await botsOf(joins.service)).some(({ id }) => id === bot.id),
    'the bot in the list of the node that has joined',
  );
});

it('learns of bots whose node was lost before as soon as the node that leads answers', async () => {
  const config = { ...CONFIG, cluster: { lease_ms: 8000 } };
  const cluster = await TestCluster.start({ config, nodes: 3 });
  onTestFinished(() => cluster.stop());
  await allJoined(cluster);
  const { nodes } = cluster;
  const shown = await Promise.all(nodes.map(({ service, name }) => nodeOf(service, name)));
  const leads = nodes[shown.findIndex((one) => one?.is_leader)] as ServiceNode;
  const [lost, joins] = nodes.filter((node) => node !== leads) as [ServiceNode, ServiceNode];
  const bot = { id: 'silent', kind: 'synthetic', desired: 'stopped', failover: 'stay' };
  expect((await create(leads.service, { ...bot, node: lost.name })).status).toBe(201);
  await joins.stop();
  await lost.kill();
  const statusOn = async (node: ServiceNode): Promise<string | undefined> =>
    (await botsOf(node.service)).find(({ id }) => id === bot.id)?.status;
  await eventually(async () => (await statusOn(leads)) === 'lost', 'the bot to be lost');
  // Nobody can tell the one that joins which bots there are. The leader keeps its lease.
  leads.suspend();
  await joins.start();
  await isReady(joins);
  leads.resume();
  await eventually(async () => (await statusOn(joins)) === 'lost', 'the bot in the list');
});
