// Fleet files and rollouts at a node of a cluster.

import { expect, it, onTestFinished } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { create } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { allJoined, CONFIG } from './service.js';

it('a node applies no fleet and begins no rollout, and says so; it exports its bots', async () => {
  const cluster = await TestCluster.prepare({ config: CONFIG });
  onTestFinished(() => cluster.stop());
  const node = await cluster.add();
  await node.start();
  await allJoined(cluster);
  const { service } = node;
  await create(service, { id: 'a', kind: 'synthetic', config: { events_per_second: 0 } });
  for (const dry_run of [true, false]) {
    const body = { bots: [{ id: 'b', kind: 'synthetic' }], dry_run };
    const answer = await call(service, 'POST', '/api/fleet/web', { body });
    expectError(answer, 409, /is a node of a cluster, where fleet files cannot be applied yet/);
  }
  for (const body of [{ kind: 'synthetic' }, { ids: ['a'], config: { events_per_second: 1 } }]) {
    const answer = await call(service, 'POST', '/api/rollouts', { body });
    expectError(answer, 409, /^rollouts are for a single service: this one is in a cluster$/);
  }
  const { json } = await call(service, 'GET', '/api/fleet');
  expect(json).toEqual({
    bots: [{ id: 'a', kind: 'synthetic', config: { events_per_second: 0 } }],
    variables: [],
    fleets: [],
  });
});
