// The NATS servers of the other tests: what they store outlives kill -9, one at a time or all.

import { expect, it, onTestFinished } from 'vitest';
import { jetstream, jetstreamManager } from '../../src/cluster/wire/nats.js';
import { reasonOf } from '../../src/cluster/wire/reasons.js';
import { NatsCluster, type NatsOptions, NatsServer } from '../harness/nats.js';

async function start(options: NatsOptions = {}): Promise<NatsServer> {
  const server = await NatsServer.start(options);
  onTestFinished(() => server.stop());
  return server;
}

it('keeps what it has stored over kill -9, on the same port', async () => {
  const server = await start();
  const connection = await server.connect();
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: 'things', subjects: ['thing'] });
  await jetstream(connection).publish('thing', 'one');
  await server.kill();
  await server.run();
  const again = await jetstreamManager(await server.connect());
  expect((await again.streams.info('things')).state.messages).toBe(1);
});

it('has JetStream, a limit and a login as asked', async () => {
  const plain = await start({ jetstream: false, login: { token: 'secret' } });
  const off = await jetstreamManager(await plain.connect()).then(
    () => 'on',
    (thrown: unknown) => reasonOf(thrown),
  );
  expect(off).toMatch(/JetStream is not enabled/);
  expect(plain.url).toBe(`nats://secret@127.0.0.1:${plain.port}`);
  const small = await start({
    maxFileStore: 1_000_000,
    login: { user: 'drover', password: 'secret' },
  });
  const manager = await jetstreamManager(await small.connect());
  const add = manager.streams.add({ name: 'big', subjects: ['big'], max_bytes: 2_000_000 });
  await expect(add.catch((thrown: unknown) => Promise.reject(reasonOf(thrown)))).rejects.toMatch(
    /no space left/,
  );
});

it('forms a cluster, which works on without one server', async () => {
  const cluster = await NatsCluster.start(3);
  onTestFinished(() => cluster.stop());
  const [first, second] = cluster.servers;
  if (!first || !second) throw new Error('three servers');
  const manager = await jetstreamManager(await first.connect());
  await manager.streams.add({ name: 'things', subjects: ['thing'], num_replicas: 3 });
  await second.kill();
  await cluster.ready();
  const client = jetstream(await first.connect());
  await expect
    .poll(() => client.publish('thing', 'one').then(({ seq }) => seq, reasonOf))
    .toBeGreaterThan(0);
  await second.run();
  await cluster.ready();
  const there = await jetstreamManager(await second.connect());
  expect((await there.streams.info('things')).state.messages).toBeGreaterThan(0);
});
