// Records the present version of the protocol to test/fixtures/cluster/protocol-<version>.json, once for each version:
//
//   npx vitest run --config test/cluster/tools.config.ts --project cluster record-protocol

import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { PROTOCOL } from '../../src/cluster/wire/names.js';
import type { Msg } from '../../src/cluster/wire/nats.js';
import { call } from '../harness/api.js';
import { invoke, POST } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { makeDir, removeDir } from '../harness/service.js';
import { makeToken, revoke } from '../harness/tokens.js';
import { callsIn, type Recording, recordStreams } from './recording.js';
import { allJoined, CONFIG, createWitnesses } from './service.js';

it('records what a cluster has on NATS and says there', async () => {
  const file = `test/fixtures/cluster/protocol-${PROTOCOL}.json`;
  expect(existsSync(file), `${file} is never changed`).toBe(false);
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const key = randomBytes(32).toString('hex');
  const keyFile = path.join(dir, 'key');
  writeFileSync(keyFile, key, { mode: 0o600 });
  const config = { ...CONFIG, cluster: { secret_key_file: keyFile } };
  const cluster = await TestCluster.start({ config, nodes: 2 });
  onTestFinished(() => cluster.stop());
  await allJoined(cluster);
  const connection = await cluster.nats[0]?.connect();
  if (!connection) throw new Error('one server');
  const messages: Msg[] = [];
  connection.subscribe('drover.test.calls.*', {
    callback: (_, message) => void messages.push(message),
  });
  await connection.flush();
  const [first, second] = cluster.nodes.map(({ service }) => service);
  if (!first || !second) throw new Error('two nodes');
  const secret = { password: 'recorded-secret', log_ms: 100 };
  await createWitnesses(cluster, cluster.node(0), 3, secret, { labels: { made: 'earlier' } });
  await createWitnesses(cluster, cluster.node(0), 1, {}, { node: 'h2', failover: 'stay' }, 'far');
  await createWitnesses(cluster, cluster.node(0), 1, {}, { host_group: 'g', quota: {} }, 'group');
  await cluster.witness.all(['w1', 'w2', 'w3', 'far1', 'group1']);
  const { token } = await makeToken(first, { scopes: ['admin'] });
  const gone = await makeToken(first);
  expect((await revoke(second, gone.id)).status).toBe(204);
  await invoke(first, 'far1', 'term');
  await POST(first, '/api/bots/actions', { ids: ['far1'], action: 'restart' });
  await call(first, 'PATCH', '/api/bots/far1', { body: { labels: { changed: 'yes' } } });
  await call(first, 'GET', '/api/bots/far1/config');
  await call(first, 'GET', '/api/kinds');
  await call(first, 'GET', '/api/incidents');
  await POST(first, '/api/nodes/h2/cordon');
  await cluster.witness.all(['far1']);
  const calls = callsIn(messages);
  const recording: Recording = { key, token, streams: await recordStreams(connection), calls };
  writeFileSync(file, `${JSON.stringify(recording, null, 1)}\n`);
});
