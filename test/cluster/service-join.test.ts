// What a node knows that joins while no other can tell it which bots there are.

import { expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { create, eventually } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { allJoined, botsOf, CONFIG } from './service.js';

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
  await eventually(
    async () => (await call(joins.service, 'GET', '/ready', { token: null })).status === 200,
    'the node to have joined',
  );
  expect(await botsOf(joins.service)).toEqual([]);
  has.resume();
  await eventually(
    async () => (await botsOf(joins.service)).some(({ id }) => id === bot.id),
    'the bot in the list of the node that has joined',
  );
});
