// `drover nodes` and what other commands show of a cluster, against a server that answers as a node would: several nodes are tested
// in test/cluster.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import type { ClusterNode, NodeList } from '../../src/client/index.js';
import { expectFailure, runCli, startCliHere } from '../harness/cli.js';
import { makeDir, removeDir } from '../harness/service.js';

const node = (name: string, more: Partial<ClusterNode> = {}): ClusterNode => ({
  node: name,
  state: 'live',
  is_self: false,
  is_leader: false,
  labels: {},
  version: '0.1.0',
  address: null,
  started_at_ms: 1,
  renewed_at_ms: 1,
  kinds: ['demo'],
  capacity: { cores: 2, memory_mb: 1000 },
  figures: { bots: 0, running: 0, streams: 0, cpu: 0, memory_mb: 100.4, unpublished: 0 },
  ...more,
});
const snapshot = (id: string, more: object) => ({
  id,
  kind: 'demo',
  status: 'in_world',
  since_ms: Date.now(),
  restarts: 0,
  labels: {},
  host: 0,
  usage: null,
  over_quota: [],
  last_error: null,
  ...more,
});

/** What the server was asked, and what it answers next. */
let asked: { method: string; path: string; body: unknown }[] = [];
let lists: NodeList[] = [];
let snapshots: object[] = [];
let rules: object[] = [];
let pressure: object = {};
let frames = '';

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const { method = '', url = '' } = request;
  asked.push({ method, path: url, body: text === '' ? null : JSON.parse(text) });
  if (url.startsWith('/events')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frames);
    return;
  }
  const answer = (): [number, unknown] => {
    const [, name, verb] = /^\/api\/nodes\/(\w+)\/(\w+)$/.exec(url) ?? [];
    if (url === '/api/nodes/rebalance') return [200, { moving: 7 }];
    if (url === '/api/bots/there/move') return [200, { moving: 0 }];
    if (url.endsWith('/move')) return [200, { moving: 1 }];
    if (method === 'GET' && /^\/api\/bots\/\w+$/.test(url)) {
      return [200, snapshots.length > 1 ? snapshots.shift() : snapshots[0]];
    }
    const [now] = lists;
    const found = now?.nodes.find((one) => one.node === name);
    if (verb !== undefined) return found ? [200, found] : [404, { error: `no node "${name}"` }];
    if (url === '/api/nodes') return [200, lists.length > 1 ? lists.shift() : now];
    if (url.startsWith('/api/bots') && method === 'GET') return [200, { bots: snapshots }];
    if (url.startsWith('/api/bots')) return [200, snapshot('new', { status: 'starting' })];
    if (url === '/api/rules') return [200, { rules }];
    if (url === '/api/pressure') return [200, pressure];
    if (url === '/api-info') return [200, { port: 1, token: 'a' }];
    return [200, { events: [], cursor: null }];
  };
  const [status, body] = answer();
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
});

let home: string;
let at: string[];
beforeAll(async () => {
  home = makeDir();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  at = ['--url', `http://127.0.0.1:${port}`, '--token', 'a'.repeat(64)];
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
  removeDir(home);
});
beforeEach(() => {
  asked = [];
  snapshots = [];
  lists = [on(node('h1'), node('h2'))];
});

const on = (...nodes: ClusterNode[]): NodeList => ({
  cluster: 'c',
  state: 'on',
  reason: null,
  nodes,
});
const drover = (...args: string[]) => runCli(home, [...args, ...at]);
const draining = (count: number, state: ClusterNode['state'] = 'draining') => {
  const { figures } = node('h1');
  return node('h1', { state, figures: { ...figures, bots: count } });
};

it('nodes: a table, and the list as JSON', async () => {
  const { figures } = node('h1');
  lists = [
    on(
      node('h1', {
        is_leader: true,
        labels: { zone: 'a', disk: 'ssd' },
        figures: { ...figures, bots: 12, running: 11, streams: 3, cpu: 0.345 },
      }),
      node('h2', { state: 'lost' }),
    ),
  ];
  expect(await drover('nodes')).toEqual({
    code: EXIT.ok,
    stderr: '',
    stdout: [
      'NODE  STATE  LEADER  BOTS  RUNNING  CPU    MEMORY  STREAMS  VERSION  LABELS',
      'h1    live   leader  12    11       34.5%  100M    3        0.1.0    zone=a,disk=ssd',
      'h2    lost   -       0     0        0.0%   100M    0        0.1.0',
      '',
    ].join('\n'),
  });
  expect(JSON.parse((await drover('nodes', 'list', '--json')).stdout)).toEqual(lists[0]);
});

it('nodes: a single service says so, and one that is cut off says why', async () => {
  lists = [{ cluster: null, state: 'off', reason: null, nodes: [] }];
  expect(await drover('nodes')).toMatchObject({
    stdout: 'a single service; it is not in a cluster\n',
    stderr: '',
  });
  lists = [{ ...on(node('h1')), state: 'cut_off', reason: 'NATS does not answer' }];
  expect((await drover('nodes')).stderr).toBe(
    'drover: it is cut off, and its data about other nodes may be old: NATS does not answer\n',
  );
});

it('rules: what a node that is cut off does not know is not taken for none', async () => {
  const rule = { id: 'r', name: 'a', query: '', condition: 'bots', threshold: 1, window_ms: null };
  const more = {
    for_ms: 0,
    severity: 'warn',
    enabled: true,
    since_ms: null,
    value: null,
    bots: [],
  };
  rules = [{ ...rule, ...more, state: 'unknown', reason: 'NATS does not answer' }];
  const unknown = { code: EXIT.failed, stderr: 'drover: a is unknown: NATS does not answer\n' };
  expect(await drover('rules', 'list', '--firing')).toMatchObject(unknown);
  rules = [{ ...rule, ...more, state: 'ok', reason: null }];
  expect(await drover('rules', 'list', '--firing')).toMatchObject({ code: EXIT.ok, stderr: '' });
});

it('bots list: a service that is cut off says once since when, and why, what it shows of other nodes is old', async () => {
  snapshots = [snapshot('a', { node: 'h1' }), snapshot('b', { node: 'h2' })];
  expect((await drover('bots', 'list')).stderr).toBe('');
  const self = node('h1', { is_self: true, renewed_at_ms: Date.UTC(2026, 0, 2, 3, 4, 5) });
  const reason = 'NATS does not answer';
  lists = [{ ...on(self, node('h2', { state: 'lost' })), state: 'cut_off', reason }];
  for (const flags of [[], ['--json']]) {
    expect((await drover('bots', 'list', ...flags)).stderr).toBe(
      'drover: the service has no connection to its cluster since 2026-01-02T03:04:05.000Z, so bots of other nodes are shown as they were then: NATS does not answer\n',
    );
  }
  // A single service is not asked.
  asked = [];
  snapshots = [snapshot('a', {})];
  await drover('bots', 'list');
  expect(asked.map(({ path }) => path)).toEqual(['/api/bots']);
});

it('cordon and uncordon say the state of the node; an unknown one is not found', async () => {
  expect((await drover('nodes', 'cordon', 'h1')).stdout).toBe('h1 live\n');
  expect((await drover('nodes', 'uncordon', 'h2')).stdout).toBe('h2 live\n');
  expect(asked.map(({ method, path }) => [method, path])).toEqual([
    ['POST', '/api/nodes/h1/cordon'],
    ['POST', '/api/nodes/h2/uncordon'],
  ]);
  expectFailure(await drover('nodes', 'cordon', 'h9'), EXIT.not_found, /no node "h9"/);
});

it('drain waits until the node has no bots', async () => {
  lists = [on(draining(2)), on(draining(1)), on(draining(0))];
  const end = await drover('nodes', 'drain', 'h1');
  expect(end).toMatchObject({ code: EXIT.ok, stderr: '' });
  expect(end.stdout).toMatch(/^h1 drained of 2 bots after [\d.]+m?s\n$/);
  expect(asked.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET', 'GET']);
});

it('drain ends when no bot can leave, and names them; leftovers hold nothing up', async () => {
  const stuck = [
    { bot: 'a', reason: 'it names the node h1' },
    { bot: 'b', reason: 'the secrets of b are on h1 only' },
  ];
  lists = [on(draining(3)), on({ ...draining(2), stuck })];
  expectFailure(
    await drover('nodes', 'drain', 'h1'),
    EXIT.failed,
    /^drover: h1 cannot move 2 bots away, and continues to drain; a: it names the node h1; b: the secrets of b are on h1 only$/m,
  );
  const leftovers = [{ bot: 'both', reason: 'not started: the cluster has another bot' }];
  const line =
    'drover: h1 has bot both, not started: the cluster has another bot; remove it with: drover bots rm both --left-on h1\n';
  lists = [on({ ...draining(0), leftovers })];
  expect(await drover('nodes', 'drain', 'h1')).toMatchObject({ code: EXIT.ok, stderr: line });
  expect(await drover('nodes')).toMatchObject({ code: EXIT.ok, stderr: line });
});

it('bots rm --left-on removes what one node has', async () => {
  const end = await drover('bots', 'rm', 'both', '--left-on', 'h2');
  expect(end).toMatchObject({ code: EXIT.ok, stdout: 'both deleted on h2\n' });
  expect(asked).toMatchObject([{ method: 'DELETE', path: '/api/bots/both?node=h2' }]);
});

it('nodes rm says what becomes of the bots', async () => {
  expect(await drover('nodes', 'rm', 'h3')).toMatchObject({
    code: EXIT.ok,
    stdout: 'h3 removed\n',
  });
  await drover('nodes', 'rm', 'h3', '--move-bots');
  await drover('nodes', 'rm', 'h3', '--delete-bots');
  const paths = ['/api/nodes/h3', '/api/nodes/h3?bots=move', '/api/nodes/h3?bots=delete'];
  expect(asked.map(({ method, path }) => [method, path])).toEqual(
    paths.map((path) => ['DELETE', path]),
  );
  const both = await drover('nodes', 'rm', 'h3', '--move-bots', '--delete-bots');
  expectFailure(both, EXIT.usage, /cannot be used with/);
});

it('bots move waits until the bot is on the node', async () => {
  const [on1, on2, on3] = ['h1', 'h2', 'h3'].map((name) => snapshot('a', { node: name }));
  snapshots = [on1 as object, on1 as object, on2 as object];
  const end = await drover('bots', 'move', 'a', '--to', 'h2');
  expect(end).toMatchObject({ code: EXIT.ok, stdout: 'a in_world on h2\n' });
  expect(asked[1]).toEqual({ method: 'POST', path: '/api/bots/a/move', body: { node: 'h2' } });
  snapshots = [on1 as object, on3 as object];
  const other = await drover('bots', 'move', 'a', '--to', 'h2');
  expectFailure(other, EXIT.failed, /a is on h3 instead: h2 no longer accepts it/);
  snapshots = [on1 as object];
  const late = await drover('bots', 'move', 'a', '--to', 'h2', '--within', '20ms');
  expectFailure(late, EXIT.timeout, /a is not on h2 after 20ms; it is still moving/);
  const begun = await drover('bots', 'move', 'a', '--to', 'h2', '--no-wait');
  expect(begun.stdout).toBe('a is moving to h2\n');
  snapshots = [snapshot('there', { node: 'h2' })];
  expect((await drover('bots', 'move', 'there', '--to', 'h2')).stdout).toBe(
    'there in_world on h2\n',
  );
});

it('drain --no-wait does not wait, and --within limits the wait', async () => {
  lists = [on(draining(2))];
  expect((await drover('nodes', 'drain', 'h1', '--no-wait')).stdout).toBe('h1 draining\n');
  expect(asked).toHaveLength(1);
  expectFailure(
    await drover('nodes', 'drain', 'h1', '--within', '50ms'),
    EXIT.timeout,
    /^drover: h1 still has 2 bots after 50ms; it continues to drain/,
  );
});

it('drain fails when the node is asked for something else, or is lost', async () => {
  lists = [on(draining(2)), on(draining(1, 'live'))];
  expectFailure(
    await drover('nodes', 'drain', 'h1'),
    EXIT.failed,
    /h1 is no longer draining: it is live now/,
  );
  lists = [on(draining(2)), on(draining(1, 'lost'))];
  expectFailure(await drover('nodes', 'drain', 'h1'), EXIT.failed, /its lease has run out/);
});

it('rebalance says how many bots move', async () => {
  expect((await drover('nodes', 'rebalance')).stdout).toBe('7 bots move\n');
  expect(JSON.parse((await drover('nodes', 'rebalance', '--json')).stdout)).toEqual({ moving: 7 });
});

it('names bad records with the command that removes them', async () => {
  const reason = 'it is not signed with the key of the cluster (cluster.secret_key_file)';
  const [now] = lists;
  lists = [{ ...(now as NodeList), bad_records: [{ bucket: 'bots', key: 'a b', reason }] }];
  const listed = await drover('nodes');
  expect(listed.stderr).toContain(
    `the bucket bots has no record for a b: ${reason}; remove it with: drover nodes remove-record bots 'a b'`,
  );
  asked = [];
  const removed = await drover('nodes', 'remove-record', 'bots', 'a b');
  expect(removed.stdout).toBe('the record of a b is removed from bots\n');
  expect(asked.map(({ method, path }) => [method, path])).toEqual([
    ['DELETE', '/api/nodes/records/bots/a%20b'],
  ]);
});

it('lists of bots and top have a column of nodes, when bots have one', async () => {
  snapshots = [snapshot('a', { node: 'h1' }), snapshot('b', { node: 'h2' })];
  const [head = '', first = ''] = (await drover('bots', 'list')).stdout.split('\n');
  expect(head).toMatch(/^ID +KIND +STATUS +NODE +FOR /);
  expect(first).toMatch(/^a +demo +in_world +h1 /);
  await drover('bots', 'list', '--node', 'h2');
  expect(asked.map(({ path }) => path)).toContain('/api/bots?node=h2');
  expect((await drover('top', '--once')).stdout).toMatch(/STATUS +NODE +HOST\n.* h1 +0$/m);
  snapshots = [snapshot('a', {})];
  expect((await drover('bots', 'list')).stdout).not.toContain('NODE');
  expect((await drover('top', '--once')).stdout).not.toContain('NODE');
});

it('bots create and update say where a bot runs', async () => {
  await drover('bots', 'create', 'new', '--kind', 'demo', '--node', 'h1', '--failover', 'stay');
  await drover('bots', 'create', 'new', '--kind', 'demo', '--node-label', 'zone=a,disk=ssd');
  await drover('bots', 'update', 'new', '--node', 'any');
  await drover('bots', 'update', 'new', '--node-label', 'zone=b');
  expect(asked.map(({ body }) => body)).toEqual([
    { id: 'new', kind: 'demo', labels: {}, node: 'h1', failover: 'stay' },
    { id: 'new', kind: 'demo', labels: {}, node_labels: { zone: 'a', disk: 'ssd' } },
    { node: null, node_labels: null },
    { node: null, node_labels: { zone: 'b' } },
  ]);
  expectFailure(
    await drover('bots', 'update', 'new', '--node', 'h1', '--node-label', 'zone=b'),
    EXIT.usage,
    /exclude each other/,
  );
});

it('logs --node asks the service for that node only', async () => {
  await drover('logs', '--node', 'h1,h2');
  expect(asked.at(-1)?.path).toMatch(/^\/api\/events\?.*node=h1%2Ch2/);
});

it('logs -f says when lines of other nodes are missing, and when they come again', async () => {
  const frame = (state: string, reason: string | null): string =>
    `event: cluster\ndata: ${JSON.stringify({ state, reason })}\n\n`;
  frames = `${frame('on', null)}${frame('cut_off', 'no NATS')}${frame('on', null)}`;
  const run = startCliHere(home, ['logs', '-f', ...at]);
  await expect
    .poll(run.stderr)
    .toBe(
      'drover: the service has no connection to its cluster, so lines of other nodes are missing: no NATS\n' +
        'drover: the service is connected to its cluster again\n',
    );
  await run.interrupt();
  expect((await run.ended).code).toBe(EXIT.ok);
});

it('pressure has a line of the cluster', async () => {
  const state = { state: 'on', reason: null };
  pressure = {
    short: [],
    cpu: { used: 0, limit: 1 },
    memory: { used_bytes: 0, limit_bytes: 1 },
    streams: { open: 0, limit: 1 },
    queue: { used: 0, limit: 1 },
    files: { used: 0, limit: 1, most: null },
    hosts: [],
    bots: { present: 0, limit: 1 },
    store: state,
    journal: state,
    cluster: { state: 'cut_off', reason: 'no NATS', unpublished: 12, behind: 0 },
  };
  const end = await drover('pressure');
  expect(end.stdout).toMatch(/^cluster +cut_off +12 events to publish, 0 blocks to read$/m);
  expect(end.stderr).toBe('drover: the connection to the cluster is cut_off: no NATS\n');
});
