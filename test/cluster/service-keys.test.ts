// A cluster gets a key, and another one, while it runs.

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { removeCluster } from '../../src/cli/cluster/remove-cluster.js';
import type { NodeList } from '../../src/shared/contract/nodes.js';
import { call } from '../harness/api.js';
import { eventually } from '../harness/bots.js';
import { type ServiceNode, TestCluster } from '../harness/cluster.js';
import { makeDir, removeDir } from '../harness/service.js';
import { allJoined, botsOf, CONFIG, createWitnesses, expectOnce, nodesOf } from './service.js';

const makeKey = (): string => randomBytes(32).toString('hex');

it('nodes get a key, and another one, one at a time; a node without it is told so', {
  timeout: 300_000,
}, async () => {
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const cluster = await TestCluster.start({ nodes: 2, config: CONFIG });
  onTestFinished(() => cluster.stop());
  await allJoined(cluster);
  const ids = await createWitnesses(cluster, cluster.node(0), 4);
  const made = await call(cluster.node(0).service, 'POST', '/api/tokens', {
    body: { name: 'kept', scopes: ['read'] },
  });
  const { token } = made.json as { token: string };

  const asBefore = async (): Promise<void> => {
    await allJoined(cluster);
    for (const { service } of cluster.nodes) {
      await eventually(async () => {
        const online = (await botsOf(service)).filter(({ status }) => status === 'online');
        return online.length === ids.length;
      }, 'all bots');
      await eventually(
        async () => (await call(service, 'GET', '/api/bots', { token })).status === 200,
        'the token',
      );
    }
  };
  const roll = async (change: (node: ServiceNode) => object): Promise<void> => {
    for (const node of cluster.nodes) {
      const { cluster: before, ...rest } = node.options.config as { cluster: object };
      node.options.config = { ...rest, cluster: { ...before, ...change(node) } };
      await node.stop();
      await node.start();
      await asBefore();
    }
  };
  const bad = async (): Promise<NodeList['bad_records'][]> =>
    Promise.all(cluster.nodes.map(async ({ service }) => (await nodesOf(service)).bad_records));
  const fileOf = (node: ServiceNode): string => path.join(dir, `key-${node.name}`);
  const put = (node: ServiceNode, ...keys: string[]): void =>
    writeFileSync(fileOf(node), keys.join('\n'), { mode: 0o600 });

  const [first, second] = [makeKey(), makeKey()];
  await roll((node) => {
    put(node, first);
    return { secret_key_file: fileOf(node), accept_unsigned: true };
  });
  await roll(() => ({ accept_unsigned: false }));
  expect(await bad()).toEqual([undefined, undefined]);

  await roll((node) => {
    put(node, first, second);
    return {};
  });
  await roll((node) => {
    put(node, second, first);
    return {};
  });
  await roll((node) => {
    put(node, second);
    return {};
  });
  expect(await bad()).toEqual([undefined, undefined]);
  expectOnce(cluster);

  const none = await cluster.add();
  await none.start();
  await eventually(async () => {
    const { state, reason } = await nodesOf(none.service);
    return state !== 'on' && /have a key, and this one has none/.test(reason ?? '');
  }, 'the reason of the node without a key');
  const other = await cluster.add({ secret_key_file: fileOf(cluster.node(0)) });
  put(cluster.node(0), makeKey());
  await other.start();
  await eventually(async () => {
    const { state, reason } = await nodesOf(other.service);
    return state !== 'on' && /is not the one of the cluster/.test(reason ?? '');
  }, 'the reason of the node with another key');
  const service = cluster.node(1).service;
  await eventually(async () => {
    const { bad_records: found = [] } = await nodesOf(service);
    return ['node.h3', 'node.h4'].every((key) => found.some((one) => one.key === key));
  }, 'their leases to be bad records');
  await other.stop();
  await none.stop();
  // Also the tokens of their PINs.
  await eventually(async () => {
    const { bad_records: found = [] } = await nodesOf(service);
    for (const { bucket, key } of found) {
      await call(service, 'DELETE', `/api/nodes/records/${bucket}/${key}`);
    }
    return found.length === 0;
  }, 'no bad record');
  expect((await call(service, 'DELETE', '/api/nodes/records/bots/w1')).status).toBe(404);
  expect((await botsOf(service)).filter(({ status }) => status === 'online')).toHaveLength(4);
  expectOnce(cluster);
});

it('a key that others know is replaced at once, and the nodes bring back what they have', async () => {
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const file = path.join(dir, 'key');
  writeFileSync(file, makeKey(), { mode: 0o600 });
  const config = { ...CONFIG, cluster: { secret_key_file: file } };
  const cluster = await TestCluster.start({ nodes: 2, config });
  onTestFinished(() => cluster.stop());
  await allJoined(cluster);
  const ids = await createWitnesses(cluster, cluster.node(0), 3);
  await cluster.witness.all(ids);
  const { json } = await call(cluster.node(0).service, 'POST', '/api/tokens', {
    body: { name: 'kept', scopes: ['read'] },
  });
  const { token } = json as { token: string };
  for (const node of cluster.nodes) await node.stop();
  writeFileSync(file, makeKey());
  await removeCluster(
    cluster.nats.map(({ url }) => url),
    'test',
  );
  for (const node of cluster.nodes) await node.start();
  await allJoined(cluster);
  for (const { service } of cluster.nodes) {
    await eventually(async () => {
      const online = (await botsOf(service)).filter(({ status }) => status === 'online');
      const answer = await call(service, 'GET', '/api/bots', { token });
      return online.length === ids.length && answer.status === 200;
    }, 'the bots and the token');
    expect((await nodesOf(service)).bad_records).toBeUndefined();
  }
  expectOnce(cluster);
});
