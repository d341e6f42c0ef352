// Rules of a cluster: the same on each node, judged over the events of all, and said once.

import { expect, it, onTestFinished } from 'vitest';
import type { AlertEvent, Rule } from '../../src/shared/contract/rules.js';
import { type Answer, call, expectError } from '../harness/api.js';
import { create, eventually, POST, remove, watch } from '../harness/bots.js';
import { type ServiceNode, TestCluster } from '../harness/cluster.js';
import type { Service } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';
import { allJoined, botsOf, CONFIG, createWitnesses, nodesOf } from './service.js';

/** Of a change that the cluster does not have: nothing of it is stored. */
const REFUSED = /^the cluster does not accept the change: /;
const LINES = { query: '', condition: 'count', window_ms: 60_000 };

async function start(nodes = 3, config: object = {}): Promise<TestCluster> {
  const cluster = await TestCluster.start({ config: { ...CONFIG, ...config }, nodes });
  onTestFinished(() => cluster.stop());
  await allJoined(cluster);
  return cluster;
}

async function rulesOf(service: Service): Promise<Rule[]> {
  const answer = await call(service, 'GET', '/api/rules');
  expect(answer.status, answer.text).toBe(200);
  return (answer.json as { rules: Rule[] }).rules;
}

async function add(service: Service, body: object): Promise<Rule> {
  const { status, json, text } = await POST(service, '/api/rules', body);
  expect(status, text).toBe(201);
  return json as Rule;
}

/** Each node that is awake shows these, as `<name> <state>`. */
async function allShow(cluster: TestCluster, ...wanted: string[]): Promise<void> {
  const seen = new Map<string, string[]>();
  await eventually(async () => {
    for (const { name, service } of cluster.awake) {
      seen.set(
        name,
        (await rulesOf(service)).map((rule) => `${rule.name} ${rule.state}`),
      );
    }
    return [...seen.values()].every((shown) => shown.join() === wanted.join());
  }, `${wanted} on each node`).catch((thrown: Error) => {
    throw new Error(`${thrown.message}; the last: ${JSON.stringify([...seen])}`);
  });
}

/** Alerts with their ids, as `<id> <rule> <state>`. */
function alertsOn(stream: SseStream): string[] {
  return stream.frames.flatMap(({ event, id, json }) => {
    if (event !== 'alert') return [];
    const { rule, state } = json as AlertEvent;
    return [`${id} ${rule.name} ${state}`];
  });
}

const saysAlert = (stream: SseStream, name: string, state: string): Promise<unknown> =>
  stream.waitFor(({ event, json }) => {
    if (event !== 'alert') return false;
    const alert = json as AlertEvent;
    return alert.rule.name === name && alert.state === state;
  });

async function leaderOf(cluster: TestCluster): Promise<ServiceNode> {
  let leader: ServiceNode | undefined;
  await eventually(async () => {
    const [one] = cluster.awake;
    if (!one) return false;
    const { nodes } = await nodesOf(one.service);
    const name = nodes.find(({ is_leader }) => is_leader)?.node;
    leader = cluster.awake.find((node) => node.name === name);
    return leader !== undefined;
  }, 'a leader');
  return leader as ServiceNode;
}

it('a rule that was made on one node is judged over all, says it once, and outlives its node and its judge', async () => {
  const cluster = await start();
  const judge = await leaderOf(cluster);
  const others = cluster.nodes.filter((node) => node !== judge);
  const [one, two] = others.map(({ service }) => service) as [Service, Service];
  const streams = await Promise.all(others.map(({ service }) => watch(service, '?event=alert')));
  // On the node that is killed below.
  const made = await add(judge.service, {
    name: 'a',
    query: 'label:team=a',
    condition: 'bots',
    threshold: 3,
  });
  const lines = { name: 'b', ...LINES, query: 'label:team=a', threshold: 20 };
  await add(one, { ...lines, severity: 'error' });
  await allShow(cluster, 'a ok', 'b ok');
  expect((await rulesOf(two)).map(({ id }) => id)).toContain(made.id);
  // One on each node.
  for (const { name } of cluster.nodes) {
    const spec = { node: name, failover: 'stay', labels: { team: 'a' } };
    await createWitnesses(cluster, judge, 1, { log_ms: 100 }, spec, `on-${name}-`);
  }
  await Promise.all(streams.map((stream) => saysAlert(stream, 'a', 'firing')));
  await Promise.all(streams.map((stream) => saysAlert(stream, 'b', 'firing')));
  await allShow(cluster, 'a firing', 'b firing');
  const since = (await rulesOf(two)).map(({ since_ms }) => since_ms);
  expect((await rulesOf(one)).map(({ since_ms }) => since_ms)).toEqual(since);

  await judge.kill();
  // It holds for longer than a rule takes to stop: what fires has been judged by the next node for as long.
  await add(one, {
    name: 'c',
    query: 'label:team=a',
    condition: 'bots',
    threshold: 3,
    for_ms: 6000,
  });
  await Promise.all(streams.map((stream) => saysAlert(stream, 'c', 'firing')));
  const next = await leaderOf(cluster);
  expect(next).not.toBe(judge);
  await allShow(cluster, 'a firing', 'b firing', 'c firing');
  expect((await rulesOf(one)).map(({ since_ms }) => since_ms).slice(0, 2)).toEqual(since);

  // It continues: a bot of a survivor goes, and the rule stops.
  const bot = (await botsOf(one)).find(({ node }) => node === next.name);
  expect((await remove(two, bot?.id ?? '')).status).toBe(204);
  await Promise.all(streams.map((stream) => saysAlert(stream, 'a', 'resolved')));
  await Promise.all(streams.map((stream) => saysAlert(stream, 'c', 'resolved')));
  const [first, second] = streams.map(alertsOn);
  expect(second).toEqual(first);
  expect(first?.map((alert) => alert.replace(/^\S+ /, ''))).toEqual([
    ...['a firing', 'b firing', 'c firing'],
    ...['a resolved', 'c resolved'],
  ]);

  // The one that was killed knows what it has missed. Removed on one, a rule is gone everywhere.
  await judge.start();
  await allJoined(cluster);
  await allShow(cluster, 'a ok', 'b firing', 'c ok');
  expect((await call(judge.service, 'DELETE', `/api/rules/${made.id}`)).status).toBe(204);
  await allShow(cluster, 'b firing', 'c ok');
  const path = `/api/rules/${made.id}`;
  expectError(await call(one, 'DELETE', path), 404, `there is no rule ${made.id}`);
  const [b] = await rulesOf(two);
  const changed = { ...lines, name: 'b2', threshold: 1_000_000 };
  const put: Answer = await call(two, 'PUT', `/api/rules/${b?.id}`, { body: changed });
  expect(put.status, put.text).toBe(200);
  await Promise.all(streams.map((stream) => saysAlert(stream, 'b', 'resolved')));
  await allShow(cluster, 'b2 ok', 'c ok');
  expectError(await POST(one, '/api/rules', changed), 409, 'there is a rule "b2" already');
});

it('without NATS a change is refused, and a node that is cut off does not say that nothing fires', async () => {
  const cluster = await start(2);
  const [cut, other] = [cluster.node(0), cluster.node(1)];
  const made = await add(cut.service, { name: 'a', query: 'kind:faulty', condition: 'bots' });
  expect((await create(other.service, { id: 'f1', kind: 'faulty' })).status).toBe(201);
  await allShow(cluster, 'a firing');
  await cut.links.cut('refused');
  await eventually(
    async () => (await rulesOf(cut.service))[0]?.state === 'unknown',
    'the node to know that it does not know',
  );
  expect((await rulesOf(cut.service))[0]).toMatchObject({
    reason: expect.stringContaining('NATS'),
    since_ms: null,
    value: null,
  });
  const path = `/api/rules/${made.id}`;
  const body = { name: 'b', ...LINES };
  expectError(await POST(cut.service, '/api/rules', body), 503, REFUSED);
  expectError(await call(cut.service, 'PUT', path, { body }), 503, REFUSED);
  expectError(await call(cut.service, 'DELETE', path), 503, REFUSED);
  // Meanwhile the others change it.
  await eventually(
    async () => (await call(other.service, 'DELETE', path)).status === 204,
    'the other node to lead',
  );
  // A restart without NATS knows the rule, from its disk.
  await cut.stop();
  await cut.start();
  expect(await rulesOf(cut.service)).toMatchObject([{ name: 'a', state: 'unknown' }]);
  await cut.links.join();
  await allJoined(cluster);
  await allShow(cluster);
});

it('rules of a single service are taken into the cluster, and one whose name is taken is shown', async () => {
  const cluster = await start(1);
  const [first] = cluster.nodes;
  const joining = await cluster.add();
  const rule = { ...LINES, query: 'level:error', threshold: 1_000_000 };
  await joining.start({ config: CONFIG });
  const own = await add(joining.service, { name: 'own', ...rule });
  const both = await add(joining.service, { name: 'both', ...rule });
  await joining.stop();
  const { service } = first as ServiceNode;
  await add(service, { name: 'both', ...rule });
  await joining.start();
  await allJoined(cluster);
  await allShow(cluster, 'both ok', 'both refused', 'own ok');
  const refused = (await rulesOf(service)).find(({ state }) => state === 'refused');
  expect(refused).toMatchObject({
    id: both.id,
    reason: 'another rule of the cluster has its name; change one of the names',
  });
  const renamed = await call(service, 'PUT', `/api/rules/${both.id}`, {
    body: { name: 'mine', ...rule },
  });
  expect(renamed.status, renamed.text).toBe(200);
  await allShow(cluster, 'both ok', 'mine ok', 'own ok');
  // Removed while one is away, and it does not bring it back.
  await joining.stop();
  await eventually(
    async () => (await call(service, 'DELETE', `/api/rules/${own.id}`)).status === 204,
    'the rule to be removed',
  );
  await joining.start();
  await allJoined(cluster);
  await allShow(cluster, 'both ok', 'mine ok');
  // As a single service again it has what the cluster had.
  await joining.stop();
  await joining.start({ config: CONFIG });
  expect((await rulesOf(joining.service)).map(({ name }) => name)).toEqual(['both', 'mine']);
});
