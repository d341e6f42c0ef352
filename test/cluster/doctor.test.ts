// What `drover doctor` finds about NATS servers.

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { checkCluster } from '../../src/cli/cluster/check-cluster.js';
import { jetstreamManager } from '../../src/cluster/wire/nats.js';
import { natsRisk } from '../../src/cluster/wire/nats-version.js';
import { NatsServer } from '../harness/nats.js';
import { makeDir, removeDir } from '../harness/service.js';

const config = (more: object) => ({
  servers: ['nats://127.0.0.1:1'],
  name: 'c',
  node: null,
  labels: {},
  credentials: null,
  tls: { ca: null, cert: null, key: null },
  lease_ms: 12_000,
  replicas: null,
  window_bytes: 2 ** 30,
  window_ms: 3_600_000,
  secret_key_file: null,
  accept_unsigned: false,
  ...more,
});

it('finds a server with JetStream, and leaves nothing there', async () => {
  const server = await NatsServer.start();
  onTestFinished(() => server.stop());
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const key = join(dir, 'key');
  writeFileSync(key, randomBytes(32).toString('hex'), { mode: 0o600 });
  const servers = [server.url];
  expect(await checkCluster(config({ servers, secret_key_file: key }))).toEqual({
    result: 'ok',
    message: expect.stringMatching(/^NATS 2\.\d+\.\d+ with JetStream at 127\.0\.0\.1:\d+$/),
  });
  expect(await checkCluster(config({ servers }))).toMatchObject({
    result: 'warn',
    message: expect.stringMatching(
      /without cluster\.secret_key_file, anyone who can reach NATS controls/,
    ),
  });
  const lax = { servers, secret_key_file: key, accept_unsigned: true };
  expect(await checkCluster(config(lax))).toMatchObject({
    result: 'warn',
    message: expect.stringMatching(/cluster\.accept_unsigned is on/),
  });
  writeFileSync(key, 'short');
  expect(await checkCluster(config({ servers, secret_key_file: key }))).toMatchObject({
    result: 'fail',
    message: expect.stringContaining('cluster.secret_key_file'),
  });
  const { streams } = await jetstreamManager(await server.connect());
  expect(await streams.names().next()).toEqual([]);
});

it('says that JetStream is off, and that a password is wrong', async () => {
  const plain = await NatsServer.start({ jetstream: false });
  onTestFinished(() => plain.stop());
  expect(await checkCluster(config({ servers: [plain.url] }))).toMatchObject({
    result: 'fail',
    message: expect.stringMatching(/^JetStream is not enabled on the NATS server/),
  });
  const locked = await NatsServer.start({ login: { user: 'drover', password: 'secret' } });
  onTestFinished(() => locked.stop());
  expect(
    await checkCluster(config({ servers: [`nats://127.0.0.1:${locked.port}`] })),
  ).toMatchObject({
    result: 'fail',
    message: expect.stringMatching(/^NATS refused the credentials/),
  });
});

it('warns of a version whose servers can lose what they have acknowledged, where there are several', async () => {
  const server = await NatsServer.start();
  onTestFinished(() => server.stop());
  const { version = '' } = (await server.connect()).info ?? {};
  const found = await checkCluster(config({ servers: [server.url], replicas: 3 }));
  const risk = natsRisk(version, 3);
  if (risk === null) expect(found.message).toContain(`NATS ${version} with JetStream`);
  else expect(found).toEqual({ result: 'warn', message: risk });
});
