// Commands to bots of other nodes: how many messages they cost, when they end, and what a node that is gone answers.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { clusterNames } from '../../src/cluster/wire/names.js';
import type { ActivityEvent } from '../../src/shared/contract/events.js';
import type { IncidentGroups } from '../../src/shared/contract/incident-groups.js';
import type { Operation, OperationList } from '../../src/shared/contract/operations.js';
import { call, expectError } from '../harness/api.js';
import { create, eventually, invoke, POST } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { makeToken } from '../harness/tokens.js';
import { allJoined, botsOf, CONFIG, nodesOf } from './service.js';

const BOTS = 1000;
const LEASE_MS = 30_000;

let cluster: TestCluster;
/** The node that is killed, and the one that stays beside h1. New bots need the leader, which must not be gone. */
let gone: number;
let left: number;
const name = (node: number): string => `h${node + 1}`;
/** The bots of a node, in the first test. */
let places: (node: string) => string[];
const ids = Array.from({ length: BOTS }, (_, n) => `b${n + 1}`);
beforeAll(async () => {
  cluster = await TestCluster.start({
    config: { ...CONFIG, invoke: { timeout_ms: 2000 } },
    // No lease runs out in these tests.
    leaseMs: LEASE_MS,
  });
  await allJoined(cluster);
  const { nodes } = await nodesOf(service(0));
  const leader = nodes.find(({ is_leader: leads }) => leads);
  expect(leader).toBeDefined();
  [gone, left] = leader?.node === name(2) ? [1, 2] : [2, 1];
  const missing = [...ids];
  const work = async (): Promise<void> => {
    for (let id = missing.shift(); id !== undefined; id = missing.shift()) {
      const made = await create(service(0), { id, kind: 'faulty', labels: { many: 'yes' } });
      expect(made.status, made.text).toBe(201);
    }
  };
  await Promise.all(Array.from({ length: 20 }, work));
});
afterAll(() => cluster?.stop());

const service = (n: number) => cluster.node(n).service;

/** The calls of nodes to others while something is done: `h2 invoke`. */
async function callsDuring(task: () => Promise<void>): Promise<string[]> {
  const connection = await cluster.nats[0]?.connect();
  if (!connection) throw new Error('one server');
  const calls: string[] = [];
  const { calls: subjectOf } = clusterNames('test');
  const subscription = connection.subscribe(subjectOf('*'), {
    callback: (_, message) => {
      const { method } = message.json<{ method?: string }>();
      const node = message.subject.slice(subjectOf('').length);
      // Nodes tell each other by themselves when tokens were used.
      if (method !== undefined && method !== 'tokensUsed') calls.push(`${node} ${method}`);
    },
  });
  await connection.flush();
  await task();
  await connection.flush();
  subscription.unsubscribe();
  return calls.sort();
}

it('a list over 1,000 bots on 3 nodes is one request a node', async () => {
  const all = await botsOf(service(0));
  const placed = all.map(({ node }) => node);
  places = (wanted) => all.filter(({ node }) => node === wanted).map(({ id }) => id);
  expect(placed).toHaveLength(BOTS);
  expect(new Set(placed)).toEqual(new Set(['h1', 'h2', 'h3']));
  const calls = await callsDuring(async () => {
    const body = { session_id: ids, command: 'heard', args: {} };
    const { status, json, text } = await POST(service(0), '/invoke', body);
    expect(status, text).toBe(200);
    const { results } = json as { results: Record<string, unknown> };
    // In the order in which they were asked for.
    expect(Object.keys(results)).toEqual(ids);
    for (const outcome of Object.values(results)) expect(outcome).toEqual({ result: 'nothing' });
  });
  expect(calls).toEqual(['h2 invoke', 'h3 invoke']);
  const restarts = await callsDuring(async () => {
    const { status, json, text } = await POST(service(1), '/api/bots/actions', {
      action: 'restart',
      labels: { many: 'yes' },
    });
    expect(status, text).toBe(200);
    const { results } = json as { results: Record<string, unknown> };
    expect(Object.keys(results).sort()).toEqual([...ids].sort());
    for (const outcome of Object.values(results)) expect(outcome).not.toHaveProperty('error');
  });
  // One call for each bot of another node: its result is known when it is done.
  expect(new Set(restarts)).toEqual(new Set(['h1 actOnBot', 'h3 actOnBot']));
  expect(restarts).toHaveLength(placed.filter((node) => node !== 'h2').length);
});

it('every node answers for an operation, and can cancel it', async () => {
  const [far, near] = ['h1', 'h2'].map((node) => places(node)) as [string[], string[]];
  const some = [far[0], near[0], far[1]] as string[];
  const { json, status } = await POST(service(1), '/api/bots/actions?wait=0', {
    action: 'restart',
    ids: some,
    parallel: 1,
    stagger_ms: 3_600_000,
  });
  expect(status).toBe(202);
  const { id } = (json as { operation: Operation }).operation;
  const get = async (n: number, query = ''): Promise<Operation> =>
    (await call(service(n), 'GET', `/api/operations/${id}${query}`)).json as Operation;
  await eventually(async () => (await get(2)).counts.done === 1, 'the first bot is done');
  expect(await get(0)).toMatchObject({ node: 'h2', state: 'running', bots: 3 });
  const waits = get(0, '?wait=60000');
  expect((await POST(service(2), `/api/operations/${id}/cancel`)).status).toBe(200);
  expect(await waits).toMatchObject({ state: 'canceled', counts: { done: 1, skipped: 2 } });
  const page = await call(service(2), 'GET', `/api/operations/${id}/bots?result=done`);
  expect(page.json).toMatchObject({ bots: [{ id: far[0], status: expect.any(String) }] });
  const listed = (await call(service(0), 'GET', '/api/operations?limit=1')).json;
  expect(listed).toMatchObject({ operations: [{ id }], missing: [] });
  expectError(await call(service(0), 'GET', '/api/operations/none'), 404, 'no operation "none"');
});

it('many bots of one request are created on the nodes where they are placed', async () => {
  const lines = ['h1', 'h2', 'h3'].map((node) => ({ id: `placed-${node}`, kind: 'faulty', node }));
  const headers = { 'content-type': 'application/x-ndjson' };
  const text = lines.map((bot) => JSON.stringify(bot)).join('\n');
  const made = await call(service(0), 'POST', '/api/bots', { headers, text });
  expect(made.status, made.text).toBe(201);
  expect(made.json).toMatchObject({ operation: { type: 'create', counts: { done: 3 } } });
  const shown = async () =>
    (await botsOf(service(2), '?query=bot:placed-*')).map(({ id, node }) => `${id} ${node}`).sort();
  await expect.poll(shown).toEqual(['placed-h1 h1', 'placed-h2 h2', 'placed-h3 h3']);
  const again = await call(service(1), 'POST', '/api/bots', { headers, text });
  expectError(again, 400, /^line 1: bot placed-h1 exists already; line 2: .*; line 3: /);
});

it('who acts on bots of other nodes is known on each node', async () => {
  const { token } = await makeToken(service(1), { name: 'Ada', scopes: ['control'] });
  const some = ids.slice(0, 30);
  const body = { action: 'stop', ids: some };
  expect((await call(service(1), 'POST', '/api/bots/actions', { token, body })).status).toBe(200);
  for (const n of [0, 1, 2]) {
    await eventually(
      async () => {
        const { json } = await call(service(n), 'GET', '/api/activity?actor=Ada&limit=100');
        const { events } = json as { events: { data: ActivityEvent }[] };
        const about = events.map(({ data }) => `${data.activity} ${data.session_id}`);
        return (
          about.sort().join() ===
          some
            .map((id) => `bot.stop ${id}`)
            .sort()
            .join()
        );
      },
      `${name(n)} to have the activities`,
    );
  }
  await POST(service(0), '/api/bots/actions', { action: 'start', ids: some });
});

it('a command that hangs ends at its deadline on each node, and is cancelled where it runs', async () => {
  const bots = await botsOf(service(0));
  const far = bots.find(({ node }) => node === 'h2')?.id ?? '';
  expectError(await invoke(service(0), far, 'never'), 504, /did not answer|in time|timed out/);
  await eventually(
    async () =>
      JSON.stringify((await invoke(service(2), far, 'heard')).json) === '{"result":"aborted"}',
    'the command to be cancelled',
  );
});

it('without a key, secrets stay on the node that was given them', async () => {
  const SECRET = 'a-password-in-no-message';
  const connection = await cluster.nats[0]?.connect();
  if (!connection) throw new Error('one server');
  const seen: string[] = [];
  const subscription = connection.subscribe('>', {
    callback: (_, message) => void seen.push(message.string()),
  });
  await connection.flush();
  const config = { host: '127.0.0.1', password: SECRET };
  const here = await create(service(0), { id: 'given', kind: 'keeper', config });
  expect(here.status, here.text).toBe(201);
  expect(here.json).toMatchObject({ node: 'h1', failover: 'bound' });
  const there = await create(service(0), { id: 'sent', kind: 'keeper', config, node: 'h2' });
  expectError(there, 409, /no key to encrypt the secrets of bot sent for node h2/);
  const change = { config };
  const changed = await call(service(1), 'PATCH', '/api/bots/given', { body: change });
  expectError(changed, 409, /ask node h1, or set cluster.secret_key_file/);
  const open = await call(service(1), 'PATCH', '/api/bots/given', {
    body: { config: { host: '127.0.0.2' } },
  });
  expect(open.status, open.text).toBe(200);
  await connection.flush();
  subscription.unsubscribe();
  expect(seen.join()).toContain('"given"');
  expect(seen.join()).not.toContain(SECRET);
});

it('bots of a node that is gone are 503 at once, those of the others answer', async () => {
  const bots = await botsOf(service(0));
  const botOf = (place: number): string => bots.find(({ node }) => node === name(place))?.id ?? '';
  const [lost, here] = [botOf(gone), botOf(left)];
  const before = performance.now();
  await cluster.node(gone).kill();
  const why = new RegExp(`^node ${name(gone)} cannot be reached: nothing answers to its name$`);
  expectError(await invoke(service(0), lost, 'heard'), 503, why);
  expectError(await POST(service(0), `/api/bots/${lost}/restart`), 503, why);
  expectError(await call(service(0), 'DELETE', `/api/bots/${lost}`), 503, why);
  const { json } = await POST(service(0), '/invoke', {
    session_id: [lost, here],
    command: 'heard',
    args: {},
  });
  expect(json).toEqual({
    results: {
      [lost]: { error: expect.stringMatching(why) },
      [here]: { result: expect.any(String) },
    },
  });
  const bulk = await POST(service(0), '/api/bots/actions', {
    action: 'restart',
    ids: [lost, here],
  });
  expect(bulk.json).toMatchObject({
    results: {
      [lost]: { error: expect.stringMatching(why) },
      [here]: { status: expect.any(String) },
    },
    operation: { state: 'done', counts: { done: 1, failed: 1 } },
  });
  const listed = (await call(service(0), 'GET', '/api/operations')).json as OperationList;
  expect(listed.missing).toEqual([name(gone)]);
  // Not when the lease, or a deadline, has run out.
  expect(performance.now() - before).toBeLessThan(LEASE_MS / 2);
});

it('new bots go to nodes that answer, although the one that is gone has its lease', async () => {
  for (let n = 0; n < 30; n += 1) {
    // By labels: the leader chooses, and the node that is gone has no fewer bots than the others.
    const made = await create(service(0), { id: `late${n}`, kind: 'faulty', node_labels: {} });
    expect(made.status, made.text).toBe(201);
    expect((made.json as { node: string }).node).not.toBe(name(gone));
  }
  const known = (await nodesOf(service(0))).nodes.find(({ node }) => node === name(gone));
  expect(known?.state).toBe('live');
});

it('incidents of one cause on several nodes are one group; none is missing because a node does not answer', async () => {
  for (const node of ['h1', name(left)]) {
    const restart = { policy: 'never' };
    const bot = { id: `falls-${node}`, kind: 'mortal', config: { end: 'throw' }, restart, node };
    const made = await create(service(0), bot);
    expect(made.status, made.text).toBe(201);
  }
  const list = async (query = ''): Promise<IncidentGroups> =>
    (await call(service(0), 'GET', `/api/incidents/groups${query}`)).json as IncidentGroups;
  const crashes = async () =>
    (await list()).groups.find(({ bots }) => bots.some((id) => id.startsWith('falls-')));
  await expect.poll(async () => (await crashes())?.count).toBe(2);
  const { cause = '' } = (await crashes()) ?? {};
  const { groups, missing } = await list(`?cause=${cause}`);
  expect(missing).toEqual([]);
  expect(groups).toMatchObject([{ type: 'crash', bot_count: 2, nodes: ['h1', name(left)] }]);
  expect(groups[0]?.bots.toSorted()).toEqual(['falls-h1', `falls-${name(left)}`]);
  // A report is stored a while after its group has counted it.
  const reporters = async (): Promise<string[]> => {
    const answer = await call(service(0), 'GET', `/api/incidents?cause=${cause}`);
    const { incidents } = answer.json as { incidents: { node: string }[] };
    return incidents.map(({ node }) => node).sort();
  };
  await expect.poll(reporters).toEqual(['h1', name(left)]);
});
