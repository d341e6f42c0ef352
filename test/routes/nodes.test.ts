// The routes of nodes, in a single service and in a cluster whose part in main is a model.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { NodeOperations } from '../../src/cluster/cluster.js';
import type { ClusterNode } from '../../src/shared/contract/nodes.js';
import { DroverError } from '../../src/shared/errors.js';
import { call, expectError } from '../harness/api.js';
import { create } from '../harness/bots.js';
import { ClusterStream } from '../harness/cluster-stream.js';
import { inject } from '../harness/inject.js';
import { readMetrics } from '../harness/metrics-text.js';

const NODE: ClusterNode = {
  node: 'h1',
  state: 'live',
  is_self: true,
  is_leader: true,
  labels: {},
  version: '1.0.0',
  address: null,
  started_at_ms: 1,
  renewed_at_ms: 2,
  kinds: ['demo'],
  capacity: { cores: 2, memory_mb: 4000 },
  figures: { bots: 0, running: 0, streams: 0, cpu: 0, memory_mb: 0, unpublished: 0 },
};
const FIGURES = { reason: 'no server', unpublished: 7, behind: 2 };
const ACTIONS = ['h1/cordon', 'h1/uncordon', 'h1/drain', 'rebalance'];

function model(calls: unknown[]): NodeOperations {
  return {
    nodes: () => ({ cluster: 'c', state: 'cut_off', reason: 'no server', nodes: [NODE] }),
    actOnNode: async (node, action) => {
      if (node !== NODE.node) throw new DroverError('not_found', `no node ${JSON.stringify(node)}`);
      calls.push([node, action]);
      return { ...NODE, state: 'draining' };
    },
    rebalance: async () => {
      calls.push('rebalance');
      return { moving: 3 };
    },
    removeRecord: async (bucket, key) => {
      if (bucket !== 'bots') throw new DroverError('not_found', `the bucket ${bucket} has none`);
      calls.push([bucket, key]);
    },
    moveBot: async ({ id, node }) => {
      calls.push([id, node]);
      return { moving: 1 };
    },
    removeNode: async (node, bots) => void calls.push([node, bots]),
    pressure: () => ({ ...FIGURES, state: 'cut_off' }),
    metrics: () => ({
      nodes: { live: 2, cordoned: 0, draining: 1, lost: 0 },
      isLeader: true,
      leftovers: 1,
      diverged: 2,
      hasKey: true,
      isOn: false,
      unpublished: 7,
      behind: 2,
    }),
  };
}

it('a single service has no nodes, and refuses what is for a cluster', async () => {
  const service = await inject();
  const { status, json } = await call(service, 'GET', '/api/nodes');
  expect(status).toBe(200);
  expect(json).toEqual({ cluster: null, state: 'off', reason: null, nodes: [] });
  for (const action of ACTIONS) {
    const answer = await call(service, 'POST', `/api/nodes/${action}`);
    expectError(answer, 409, 'this service is not in a cluster');
  }
  const move = await call(service, 'POST', '/api/bots/a/move', { body: { node: 'h2' } });
  for (const answer of [move, await call(service, 'DELETE', '/api/nodes/h1')])
    expectError(answer, 409, 'this service is not in a cluster');
  const { text } = await call(service, 'GET', '/metrics');
  expect([...readMetrics(text).keys()].filter((name) => name.includes('cluster'))).toEqual([]);
});

it('a bot is deleted on the node that answers, and on no other that there is not', async () => {
  const service = await inject();
  expect((await create(service, { id: 'a', kind: 'synthetic' })).status).toBe(201);
  const remove = (query: string) => call(service, 'DELETE', `/api/bots/a${query}`);
  expectError(await remove('?node=h2'), 404, 'no node "h2"');
  expectError(await remove('?node=h2&node=self'), 400, 'node is given twice');
  expect((await remove('?node=self')).status).toBe(204);
  expectError(await remove(''), 404, 'no bot "a"');
});

it('in a cluster main lists them and acts on them', async () => {
  const calls: unknown[] = [];
  const service = await inject({ cluster: model(calls) });
  expect((await call(service, 'GET', '/api/nodes')).json).toEqual({
    cluster: 'c',
    state: 'cut_off',
    reason: 'no server',
    nodes: [NODE],
  });
  for (const action of ACTIONS.slice(0, 3)) {
    const { status, json } = await call(service, 'POST', `/api/nodes/${action}`);
    expect([status, json]).toEqual([200, { ...NODE, state: 'draining' }]);
  }
  const { status, json } = await call(service, 'POST', '/api/nodes/rebalance');
  expect([status, json]).toEqual([200, { moving: 3 }]);
  expect(calls).toEqual([['h1', 'cordon'], ['h1', 'uncordon'], ['h1', 'drain'], 'rebalance']);
  expectError(await call(service, 'POST', '/api/nodes/h2/drain'), 404, 'no node "h2"');
  calls.length = 0;
  const body = { node: 'h2' };
  expect((await call(service, 'POST', '/api/bots/a/move', { body })).json).toEqual({ moving: 1 });
  for (const query of ['', '?bots=move', '?bots=delete'])
    expect((await call(service, 'DELETE', `/api/nodes/h3${query}`)).status).toBe(204);
  expect(calls).toEqual([
    ['a', 'h2'],
    ['h3', null],
    ['h3', 'move'],
    ['h3', 'delete'],
  ]);
  const wrong = await call(service, 'DELETE', '/api/nodes/h3?bots=keep');
  expectError(wrong, 400, 'bots must be one of: move, delete');
});

it('in a cluster the report of pressure and the metrics say how the node stands', async () => {
  const control = model([]);
  const service = await inject({ cluster: control, sources: { cluster: control.pressure } });
  expect((await call(service, 'GET', '/api/pressure')).json).toMatchObject({
    cluster: { state: 'cut_off', reason: 'no server', unpublished: 7, behind: 2 },
  });
  const cluster = new ClusterStream('c1c1c1c1c1');
  cluster.bot('h1', 'a');
  await service.attachCluster(cluster);
  const metrics = readMetrics((await call(service, 'GET', '/metrics')).text);
  const figure = (name: string) => metrics.get(`drover_cluster_${name}`)?.samples[0]?.value;
  const nodes = metrics.get('drover_cluster_nodes')?.samples;
  expect(nodes?.map(({ labels, value }) => [labels['state'], value])).toEqual([
    ['live', 2],
    ['cordoned', 0],
    ['draining', 1],
    ['lost', 0],
  ]);
  const names = ['is_leader', 'up', 'unpublished_events', 'behind_blocks'];
  expect(names.map(figure)).toEqual([1, 0, 7, 2]);
  const faults = ['leftover_bots', 'diverged_buckets', 'has_key'];
  expect(faults.map(figure)).toEqual([1, 2, 1]);
  const documented = readFileSync(new URL('../../docs/METRICS.md', import.meta.url), 'utf8');
  const listed = [...documented.matchAll(/^\| `(drover_cluster_\w+)/gm)].map(([, name]) => name);
  const exported = [...metrics.keys()].filter((name) => name.startsWith('drover_cluster_'));
  expect(listed).toEqual(exported);
  expect(figure('ring_bytes')).toBeGreaterThan(100);
  expect(figure('ring_capacity_bytes')).toBe(2 ** 20);
});

it.each([
  ['joining', 'this node has not joined the cluster yet'],
  ['cut_off', 'this node is cut off from the cluster'],
] as const)(
  'a node that is %s is not ready, and says so without a token',
  async (state, message) => {
    const control = { ...model([]), pressure: () => ({ ...FIGURES, state }) };
    const service = await inject({ cluster: control });
    const answer = await call(service, 'GET', '/ready', { token: null });
    // The reason can name servers: it is for clients with a token.
    expectError(answer, 503, message);
    expect(answer.headers.get('retry-after')).toBe('1');
  },
);

it('a node that is on is ready, and so is a single service until it stops', async () => {
  const on = { ...model([]), pressure: () => ({ ...FIGURES, state: 'on', reason: null }) as const };
  for (const service of [await inject({ cluster: on }), await inject()]) {
    const { status, json } = await call(service, 'GET', '/ready', { token: null });
    expect([status, json]).toEqual([200, { status: 'ready' }]);
  }
  const service = await inject();
  service.isStopping = true;
  expectError(
    await call(service, 'GET', '/ready', { token: null }),
    503,
    'the service is stopping',
  );
});
