// NATS that is not there, refuses, or has no room: a node says so in one line, works alone, and joins when it is put right.

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { clusterNames, EVERYONE } from '../../src/cluster/wire/names.js';
import { jetstreamManager, Kvm } from '../../src/cluster/wire/nats.js';
import { call } from '../harness/api.js';
import { act, create, eventually } from '../harness/bots.js';
import { type ClusterOptions, type ServiceNode, TestCluster } from '../harness/cluster.js';
import { HoppingClient, presentNumber, type Texts } from '../harness/hopping-client.js';
import { makeDir, removeDir, runToExit, type Service } from '../harness/service.js';
import { streamOf } from '../harness/tokens.js';
import { allJoined, botsOf, CONFIG, createWitnesses, expectOnce, nodesOf } from './service.js';

async function prepare(options: ClusterOptions = {}): Promise<TestCluster> {
  const cluster = await TestCluster.prepare({ config: CONFIG, ...options });
  onTestFinished(() => cluster.stop());
  return cluster;
}

async function startNode(cluster: TestCluster, fields: object = {}): Promise<ServiceNode> {
  const node = await cluster.add(fields);
  await node.start();
  return node;
}

/** Resolves when the node is not `on` for this reason. Its own view works meanwhile. */
async function expectAlone(node: ServiceNode, reason: RegExp): Promise<void> {
  let last: unknown;
  await eventually(async () => {
    const { state, reason: said } = await nodesOf(node.service);
    last = { state, said };
    return state !== 'on' && said !== null && reason.test(said) && !said.includes('\n');
  }, `the reason ${reason}`).catch((thrown: Error) => {
    throw new Error(`${thrown.message}; the last: ${JSON.stringify(last)}`);
  });
  expect(await botsOf(node.service, '?node=self')).toBeInstanceOf(Array);
}

it('the servers are unreachable at the start: the node starts alone, and joins later', async () => {
  const cluster = await prepare();
  const [server] = cluster.nats;
  await server?.kill();
  const node = await startNode(cluster);
  await expectAlone(node, /NATS servers cannot be reached|do not answer/);
  await server?.run();
  await allJoined(cluster);
});

it('wrong credentials are named, and may be put right on the server', async () => {
  const cluster = await prepare();
  const [server] = cluster.nats;
  if (!server) throw new Error('one server');
  // It does not know the login.
  const node = await cluster.add();
  await server.kill();
  server.options = { ...server.options, login: { user: 'drover', password: 'secret' } };
  await server.run();
  await node.start();
  await expectAlone(node, /NATS refused the credentials/);
  await server.kill();
  const { login: _, ...open } = server.options;
  server.options = open;
  await server.run();
  await allJoined(cluster);
});

it('JetStream that is not enabled is named', async () => {
  const cluster = await prepare({ nats: { jetstream: false } });
  const [server] = cluster.nats;
  const node = await startNode(cluster);
  await expectAlone(node, /JetStream is not enabled/);
  await server?.kill();
  if (server) server.options = { ...server.options, jetstream: true };
  await server?.run();
  await allJoined(cluster);
});

it('a stream of another version is not touched, and named', async () => {
  const cluster = await prepare();
  const { stream, allEvents } = clusterNames('test');
  const connection = await cluster.nats[0]?.connect();
  if (!connection) throw new Error('one server');
  const manager = await jetstreamManager(connection);
  const description = 'drover protocol 99';
  await manager.streams.add({ name: stream, subjects: [allEvents], description });
  const node = await startNode(cluster);
  await expectAlone(node, /drover-test-events has version 99; Drover \S+ knows version 1/);
  expect((await manager.streams.info(stream)).config.description).toBe(description);
});

it.for(['bots', 'tokens'] as const)(
  'a bucket of another version (%s) is not touched, and named',
  async (what) => {
    const cluster = await prepare();
    const bucket = clusterNames('test')[what];
    const connection = await cluster.nats[0]?.connect();
    if (!connection) throw new Error('one server');
    const description = 'drover protocol 99';
    await new Kvm(connection).create(bucket, { description });
    const node = await startNode(cluster);
    await expectAlone(node, new RegExp(`${bucket} has version 99; Drover \\S+ knows version 1`));
    expect(node.service.stderr()).toContain(`${bucket} has version 99`);
    const { streams } = await jetstreamManager(connection);
    const info = await streams.info(`KV_${bucket}`);
    expect(info.config.description).toBe(description);
    expect(info.state.messages).toBe(0);
    // Put right, it is joined without a restart.
    await streams.delete(`KV_${bucket}`);
    await allJoined(cluster);
  },
);

it('a password that is changed while nodes run is named, and nothing is lost', async () => {
  const cluster = await prepare();
  const [server] = cluster.nats;
  if (!server) throw new Error('one server');
  const node = await startNode(cluster);
  await allJoined(cluster);
  const stays = { failover: 'stay', node: 'h1' };
  const ids = await createWitnesses(cluster, node, 2, { log_ms: 50 }, stays);
  await cluster.witness.all(ids);
  const { visits } = cluster.witness;
  const client = new HoppingClient(await node.service.token());
  await client.hop(node);
  await server.kill();
  server.options = { ...server.options, login: { user: 'drover', password: 'secret' } };
  await server.run();
  await expectAlone(node, /NATS refused the credentials/);
  // The reason stays while it tries again, and is said once.
  const lines = (): string[] => node.service.stderr().match(/NATS refused the credentials/g) ?? [];
  await eventually(
    () => /the lease is lost: NATS refused/.test(node.service.stderr()),
    'the lease to run out',
  );
  expect((await nodesOf(node.service)).reason).toMatch(/^NATS refused the credentials/);
  // That, and why bots stop and the lease is lost.
  expect(lines().length).toBeLessThanOrEqual(3);
  await server.kill();
  const { login: _, ...open } = server.options;
  server.options = open;
  await server.run();
  await allJoined(cluster);
  await client.reach(await presentNumber(node));
  client.leave();
  expect(client.allFaults).toEqual([]);
  expect(client.ledger.gaps).toEqual([]);
  // Its bots have not noticed.
  expect(cluster.witness.visits).toBe(visits);
});

it('what is no record of Drover in its buckets is named, and stops nothing', async () => {
  const cluster = await prepare();
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const file = path.join(dir, 'key');
  writeFileSync(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  const node = await startNode(cluster, { secret_key_file: file });
  await allJoined(cluster);
  const ids = await createWitnesses(cluster, node, 2);
  await cluster.witness.all(ids);
  const connection = await cluster.nats[0]?.connect();
  if (!connection) throw new Error('one server');
  const kvm = new Kvm(connection);
  const { bots, nodes, tokens } = clusterNames('test');
  const [ofBots, ofNodes, ofTokens] = await Promise.all(
    [bots, nodes, tokens].map((bucket) => kvm.open(bucket)),
  );
  for (const [n, text] of ['no JSON', 'null', '[]', '{}', '{"v":1}', '{"v":99}'].entries()) {
    await ofBots?.put(`bad-${n}`, text);
    await ofNodes?.put(`node.bad-${n}`, text);
    await ofTokens?.put(`bad-${n}`, text);
    await ofBots?.put(`_later-${n}`, text);
    await ofNodes?.put(`later-${n}`, text);
    await ofTokens?.put(`_later-${n}`, text);
    await connection.publish(clusterNames('test').calls('h1'), text, { reply: 'nobody' });
    await connection.publish(clusterNames('test').bus('h1'), text, { reply: 'nobody' });
    await connection.publish(clusterNames('test').bus(EVERYONE), text, { reply: 'nobody' });
  }
  await ofNodes?.put('leader.bad', '7');
  await eventually(
    () =>
      /the record of bot bad-5 is left as it is: it is not signed/.test(node.service.stderr()) &&
      /the record of token bad-5: it is not signed/.test(node.service.stderr()),
    'a line for each',
  );
  await allJoined(cluster);
  // What is not the check of the node's key: it writes its own again.
  await ofTokens?.put('_secret_key', 'no JSON');
  await eventually(
    async () => /"check"/.test((await ofTokens?.get('_secret_key'))?.string() ?? ''),
    'the check of its key',
  );
  await allJoined(cluster);
  // The same with a bot that it has.
  await ofBots?.put('w1', '{}');
  await eventually(
    async () => /"spec"/.test((await ofBots?.get('w1'))?.string() ?? ''),
    'the record of its bot',
  );
  await ofBots?.delete('w2');
  await eventually(
    async () => /"spec"/.test((await ofBots?.get('w2'))?.string() ?? ''),
    'the record that somebody has removed',
  );
  const body = { id: 'bad-1', kind: 'witness', config: cluster.witnessAt };
  const refused = await create(node.service, body);
  expect(refused.status, refused.text).toBe(409);
  const { bad_records: listed = [] } = await nodesOf(node.service);
  expect(listed.length).toBeGreaterThan(10);
  for (const { bucket, key, reason } of listed) {
    expect(reason).toMatch(/not signed/);
    const answer = await call(node.service, 'DELETE', `/api/nodes/records/${bucket}/${key}`);
    expect(answer.status, answer.text).toBe(204);
  }
  await eventually(
    async () => (await nodesOf(node.service)).bad_records === undefined,
    'no bad record',
  );
  const made = await create(node.service, body);
  expect(made.status, made.text).toBe(201);
  await cluster.witness.all([...ids, 'bad-1']);
  expectOnce(cluster);
});

/** Of the ids on the stream of a node; empty for one that ends meanwhile. */
async function epochOf(service: Service): Promise<string> {
  const stream = await streamOf(service, await service.token());
  const { id = '' } = await stream.waitFor(({ id }) => id !== undefined).catch(() => ({ id: '' }));
  stream.close();
  return id.split('-')[0] ?? '';
}

it('the stream is deleted: it is made again, with another epoch and the events since', async () => {
  const cluster = await prepare();
  await startNode(cluster);
  await startNode(cluster);
  await allJoined(cluster);
  const ids = await createWitnesses(cluster, cluster.node(0), 4, { log_ms: 50 });
  await cluster.witness.all(ids);
  // Their snapshots do not change any more.
  for (const { name, service } of cluster.nodes) {
    const made = await create(service, { id: `silent-${name}`, kind: 'faulty', node: name });
    expect(made.status, made.text).toBe(201);
    expect((await act(service, `silent-${name}`, 'stop')).status).toBe(200);
  }
  const connection = await cluster.nats[0]?.connect();
  if (!connection) throw new Error('one server');
  const { streams } = await jetstreamManager(connection);
  const { stream } = clusterNames('test');
  const before = await epochOf(cluster.node(0).service);
  await streams.delete(stream);
  await eventually(
    async () => (await streams.info(stream).catch(() => null)) !== null,
    'the stream to be made again',
  );
  // Nodes look whether it is still the same; then streams end, and begin with the new one.
  const epochs = (): Promise<string[]> =>
    Promise.all(cluster.nodes.map(({ service }) => epochOf(service)));
  await eventually(async () => {
    const now = await epochs();
    return now.every((epoch) => epoch !== '' && epoch === now[0] && epoch !== before);
  }, 'the new stream on each node');
  const wanted = [...ids, 'silent-h1', 'silent-h2'].sort().join();
  for (const { service } of cluster.nodes)
    await eventually(
      async () =>
        (await botsOf(service))
          .map(({ id }) => id)
          .sort()
          .join() === wanted,
      'all bots in the list of each node',
    );
  const texts: Texts = new Map();
  for (const node of cluster.nodes) {
    const client = new HoppingClient(await node.service.token(), texts);
    await client.hop(node);
    await Promise.all(ids.map((id) => client.hears(id)));
    client.leave();
    expect(client.allFaults).toEqual([]);
  }
  expectOnce(cluster);
});

describe('a configuration that is wrong ends the start with one line', () => {
  const dir = makeDir();
  afterAll(() => removeDir(dir));
  const file = (name: string, text: string, mode = 0o600): string => {
    writeFileSync(path.join(dir, name), text, { mode });
    return path.join(dir, name);
  };
  const SERVERS = '["nats://127.0.0.1:1"]';
  it.for([
    [{ SERVERS: 'nats://127.0.0.1:1' }, /DROVER_CLUSTER_SERVERS\)?: cluster\.servers must be/],
    [{ SERVERS: '["http://127.0.0.1:1"]' }, /an address in cluster\.servers is not understood/],
    [{ SERVERS: '["nats://a:b@h1","nats://c:d@h2"]' }, /different users or passwords/],
    [{ SERVERS, NAME: 'a.b' }, /cluster\.name must/],
    [{ SERVERS, NODE: 'self' }, /cluster\.node must/],
    [{ SERVERS, NODE: 'a b' }, /cluster\.node must/],
    [{ SERVERS, LABELS: '{"zone":1}' }, /cluster\.labels\.zone must/],
    [{ SERVERS, LABELS: 'zone' }, /cluster\.labels must/],
    [{ SERVERS, LEASE_MS: '1' }, /cluster\.lease_ms must/],
    [{ SERVERS, SECRET_KEY_FILE: path.join(dir, 'none') }, /secret_key_file cannot be read/],
    [{ SERVERS, SECRET_KEY_FILE: file('short', 'abcd') }, /is not a key: 32 bytes/],
    [
      { SERVERS, SECRET_KEY_FILE: file('open', 'a'.repeat(64), 0o644) },
      /can be read by others: chmod 600/,
    ],
    [{ SERVERS, CREDENTIALS: path.join(dir, 'none') }, /cluster\.credentials cannot be read/],
    [{ SERVERS, CREDENTIALS: file('creds', 'x') }, /is not a NATS credentials file/],
    [{ SERVERS, TLS_CA: path.join(dir, 'none') }, /cluster\.tls\.ca cannot be read/],
    [{ SERVER: SERVERS }, /unknown environment variable DROVER_CLUSTER_SERVER/],
  ] as const)('%j', async ([values, line]) => {
    const env = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [`DROVER_CLUSTER_${name}`, value]),
    );
    const data = path.join(dir, 'data');
    const args = ['--port', '0', '--no-demo', '--data-dir', data];
    const { code, stderr } = await runToExit(args, env);
    expect(stderr).toMatch(line);
    expect(stderr).toMatch(/^drover: [^\n]+\n$/);
    expect(code).toBe(1);
  });
});

it('a bucket is deleted: it is made again from what the nodes have, and no bot is lost or runs twice', async () => {
  const cluster = await prepare();
  await startNode(cluster);
  await startNode(cluster);
  await allJoined(cluster);
  const ids = await createWitnesses(cluster, cluster.node(0), 6);
  await cluster.witness.all(ids);
  const connection = await cluster.nats[0]?.connect();
  if (!connection) throw new Error('one server');
  const manager = await jetstreamManager(connection);
  const { bots, nodes, tokens } = clusterNames('test');
  for (const bucket of [bots, tokens, nodes]) {
    await manager.streams.delete(`KV_${bucket}`);
    await eventually(
      async () => (await manager.streams.info(`KV_${bucket}`).catch(() => null)) !== null,
      `the bucket ${bucket}`,
    );
    await allJoined(cluster);
    await cluster.witness.all(ids);
    for (const { service } of cluster.nodes)
      await eventually(
        async () =>
          (await botsOf(service)).filter(({ status }) => status === 'online').length === 6,
        'all bots in each list',
      );
  }
  expectOnce(cluster);
});

it('two nodes with different secret keys are no cluster', async () => {
  const cluster = await prepare();
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const key = (name: string): object => {
    const file = path.join(dir, name);
    writeFileSync(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
    return { secret_key_file: file };
  };
  const first = await startNode(cluster, key('first'));
  await allJoined(cluster);
  const other = await startNode(cluster, key('other'));
  await expectAlone(other, /secret_key_file|key/);
  expect((await nodesOf(first.service)).state).toBe('on');
});

it('JetStream has no room: the node says so, and what it could not publish is on the stream later', async () => {
  const cluster = await prepare();
  const [server] = cluster.nats;
  if (!server) throw new Error('one server');
  const node = await startNode(cluster);
  await allJoined(cluster);
  const ids = await createWitnesses(
    cluster,
    node,
    2,
    { log_ms: 50 },
    { failover: 'stay', node: 'h1' },
  );
  await cluster.witness.all(ids);
  const room = server.options;
  await server.kill();
  server.options = { ...room, maxFileStore: 1024 };
  await server.run();
  await expectAlone(node, /JetStream/);
  await server.kill();
  server.options = room;
  await server.run();
  await allJoined(cluster);
  await cluster.witness.all(ids);
  const made = await create(node.service, {
    id: 'later',
    kind: 'witness',
    config: cluster.witnessAt,
  });
  expect(made.status, made.text).toBe(201);
  expectOnce(cluster);
});
