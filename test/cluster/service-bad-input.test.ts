// NATS that is not there, refuses, or has no room: a node says so in one line, works alone, and joins when it is put right.

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { clusterNames } from '../../src/shared/cluster/names.js';
import { jetstreamManager } from '../../src/shared/cluster/nats.js';
import { create, eventually } from '../harness/bots.js';
import { type ClusterOptions, type ServiceNode, TestCluster } from '../harness/cluster.js';
import { makeDir, removeDir } from '../harness/service.js';
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
