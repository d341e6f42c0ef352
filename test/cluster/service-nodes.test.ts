// Three services as one cluster: each shows and controls what all have.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { act, create, eventually, invoke, POST, remove } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { collect, launch } from '../harness/service.js';
import { makeTicket, makeToken, revoke, streamOf } from '../harness/tokens.js';
import { allJoined, botsOf, CONFIG, expectOnce, nodeOf, statesOf } from './service.js';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start({ config: CONFIG });
  await allJoined(cluster);
});
afterAll(() => cluster?.stop());

const service = (n: number) => cluster.node(n).service;

it('every node sees all, one of them the leader', async () => {
  for (const node of cluster.nodes) {
    expect(await statesOf(node.service)).toEqual(['h1 live', 'h2 live', 'h3 live']);
    const self = await nodeOf(node.service, node.name);
    expect(self).toMatchObject({ is_self: true, kinds: expect.arrayContaining(['witness']) });
  }
  await eventually(async () => {
    const leaders = await Promise.all(
      cluster.nodes.map(async ({ service: own }) =>
        (await Promise.all(['h1', 'h2', 'h3'].map((name) => nodeOf(own, name))))
          .filter((node) => node?.is_leader)
          .map((node) => node?.node)
          .join(),
      ),
    );
    return leaders.every((leader) => /^h\d$/.test(leader)) && new Set(leaders).size === 1;
  }, 'one leader');
});

it('a bot is made on any node, runs on another, and is controlled from a third', async () => {
  const config = cluster.witnessAt;
  const made = await create(service(0), { id: 'far', kind: 'witness', config, node: 'h2' });
  expect(made.status, made.text).toBe(201);
  expect(made.json).toMatchObject({ id: 'far', node: 'h2', term: expect.any(Number) });
  await cluster.witness.all(['far'], (pid) => pid === cluster.node(1).pid);
  for (const { service: own } of cluster.nodes)
    await eventually(
      async () => (await botsOf(own)).some(({ id, status }) => id === 'far' && status === 'online'),
      'the bot in each list',
    );
  expect((await invoke(service(2), 'far', 'add')).json).toEqual({ result: 1 });
  expect((await invoke(service(0), 'far', 'add')).json).toEqual({ result: 2 });
  const { json } = await invoke(service(2), 'far', 'term');
  expect(json).toEqual({ result: cluster.witness.termOf('far') });
  expect((await act(service(2), 'far', 'stop')).status).toBe(200);
  await cluster.witness.until(
    () => !cluster.witness.present.includes('far'),
    () => 'the bot to stop',
  );
  expect((await act(service(0), 'far', 'start')).status).toBe(200);
  await cluster.witness.all(['far']);
  expect((await create(service(2), { id: 'far', kind: 'witness', config })).status).toBe(409);
  expect((await remove(service(2), 'far')).status).toBe(204);
  for (const { service: own } of cluster.nodes)
    await eventually(
      async () => (await call(own, 'GET', '/api/bots/far')).status === 404,
      'no bot',
    );
  expectError(await invoke(service(1), 'far', 'add'), 404);
});

it('bots without a wish are spread, and a drained node gives its away', async () => {
  const ids = ['s1', 's2', 's3', 's4', 's5', 's6'];
  for (const [n, id] of ids.entries()) {
    const body = { id, kind: 'witness', config: cluster.witnessAt };
    expect((await create(service(n % 3), body)).status).toBe(201);
  }
  await cluster.witness.all(ids);
  const places = (await botsOf(service(0))).map(({ node }) => node).sort();
  expect(places).toEqual(['h1', 'h1', 'h2', 'h2', 'h3', 'h3']);
  const drained = cluster.node(2).pid;
  expect((await POST(service(0), '/api/nodes/h3/drain')).status).toBe(200);
  await cluster.witness.all(ids, (pid) => pid !== drained);
  await eventually(
    async () => (await botsOf(service(1))).every(({ node }) => node !== 'h3'),
    'the drained node to have no bots',
  );
  // To the node with most room: each of them to another.
  const shared = (await botsOf(service(1))).map(({ node }) => node).sort();
  expect(shared).toEqual(['h1', 'h1', 'h1', 'h2', 'h2', 'h2']);
  expect(await statesOf(service(1))).toEqual(['h1 live', 'h2 live', 'h3 draining']);
  expect((await POST(service(1), '/api/nodes/h3/uncordon')).status).toBe(200);
  await allJoined(cluster);
  for (const id of ids) expect((await remove(service(0), id)).status).toBe(204);
  expectOnce(cluster);
});

it('a token of one node is good on all, and dead on all once its revocation is answered', async () => {
  const { token, id } = await makeToken(service(0));
  // At once: not before every node has it is its creation answered.
  for (const { service: own } of cluster.nodes)
    expect((await call(own, 'GET', '/api/bots', { token })).status).toBe(200);
  const streams = await Promise.all(cluster.nodes.map((node) => streamOf(node.service, token)));
  const ticket = await makeTicket(service(1), token);
  expect((await revoke(service(2), id)).status).toBe(204);
  const after = await Promise.all(
    cluster.nodes.map(({ service: own }) => call(own, 'GET', '/api/bots', { token })),
  );
  expect(after.map(({ status }) => status)).toEqual([401, 401, 401]);
  await Promise.all(streams.map(({ ended }) => ended));
  const late = await service(1).open(`/events?ticket=${ticket}`, {});
  late.destroy();
  expect(late.statusCode).toBe(401);
});

it('what a node has not published is told as it is then, by pressure, nodes and metrics', async () => {
  const { service: own, links } = cluster.node(0);
  const config = { events_per_second: 200 };
  const spec = { id: 'talks', kind: 'synthetic', node: 'h1', failover: 'stay', config };
  expect((await create(own, spec)).status).toBe(201);
  const unpublished = async (): Promise<number[]> => {
    const { json } = await call(own, 'GET', '/api/pressure');
    const metric = /^drover_cluster_unpublished_events (\d+)$/m;
    return [
      (json as { cluster: { unpublished: number } }).cluster.unpublished,
      (await nodeOf(own, 'h1'))?.figures.unpublished ?? 0,
      Number(metric.exec((await call(own, 'GET', '/metrics')).text)?.[1]),
    ];
  };
  await links.cut('silent');
  await eventually(
    async () => (await unpublished()).every((events) => events > 500),
    'events that are not published',
  );
  await links.join();
  // The bot writes on: what is left is what was written just now.
  await eventually(
    async () => (await unpublished()).every((events) => events < 100),
    'events to be published',
  );
  await remove(own, 'talks');
  await allJoined(cluster);
});

it('a second service with the name of a node is refused, and says which', async () => {
  const twin = await cluster.add({ node: 'h1' });
  cluster.nodes.pop();
  const { config } = twin.options;
  const child = launch(['--port', '0', '--no-demo', '--data-dir', twin.dataDir], {
    DROVER_CLUSTER: null,
    ...environmentOf(config as { cluster: Record<string, unknown> }),
  });
  const output = collect(child);
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(output.stderr()).toMatch(/drover: [^\n]*\bh1\b[^\n]*\n$/);
  expect(code).toBe(1);
  twin.links.close();
  await allJoined(cluster);
});

function environmentOf({ cluster: fields }: { cluster: Record<string, unknown> }) {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      `DROVER_CLUSTER_${name.toUpperCase()}`,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}
