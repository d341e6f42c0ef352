// What earlier versions have left on NATS, and say there: this version reads it. The recordings are never changed.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readBotRecord } from '../../src/cluster/control/bot-records.js';
import { Secrets } from '../../src/cluster/control/secrets.js';
import { clusterNames, PROTOCOL } from '../../src/cluster/wire/names.js';
import { call } from '../harness/api.js';
import { eventually } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { RawStream } from '../harness/raw-stream.js';
import { makeDir, removeDir } from '../harness/service.js';
import { type Recording, replay } from './recording.js';
import { botsOf, CONFIG, nodesOf } from './service.js';

const DIR = 'test/fixtures/cluster';
const NAME = /^protocol-(\d+)\.json$/;
const versions = readdirSync(DIR).flatMap((file) => NAME.exec(file)?.[1] ?? []);

it('there is a recording of each version', () => {
  const all = Array.from({ length: PROTOCOL }, (_, n) => String(n + 1));
  expect([...versions].sort()).toEqual(all);
});

it.for(versions)('version %s: a cluster that was stopped continues', async (version) => {
  const recording = JSON.parse(
    readFileSync(path.join(DIR, `protocol-${version}.json`), 'utf8'),
  ) as Recording;
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const keyFile = path.join(dir, 'key');
  writeFileSync(keyFile, recording.key, { mode: 0o600 });
  const records = recordsOf(recording);
  const secrets = new Secrets(
    { cluster: 'test', keyFile },
    { withoutSecrets: (_, config) => config },
  );
  for (const id of ['w1', 'w2', 'w3'])
    expect(secrets.open(readBotRecord(id, String(records.get(id)))).config).toMatchObject({
      password: 'recorded-secret',
    });

  const cluster = await TestCluster.prepare({
    // It did not sign yet.
    config: { ...CONFIG, cluster: { secret_key_file: keyFile, accept_unsigned: true } },
  });
  onTestFinished(() => cluster.stop());
  const connection = await cluster.nats[0]?.connect();
  if (!connection) throw new Error('one server');
  await replay(connection, recording.streams);
  const node = await cluster.add({ node: 'h3' });
  const service = await node.start();
  await eventually(async () => {
    const { state, nodes } = await nodesOf(service);
    return state === 'on' && nodes.map((one) => one.state).join() === 'lost,lost,live';
  }, 'the nodes of the recording to be lost');
  const { nodes } = await nodesOf(service);
  expect(nodes.map((one) => one.node)).toEqual(['h1', 'h2', 'h3']);
  // Those that may move run here; their configuration was decrypted.
  const moved = ['group1', 'w1', 'w2', 'w3'];
  await eventually(async () => {
    const online = (await botsOf(service)).filter(({ status }) => status === 'online');
    return (
      online
        .map(({ id }) => id)
        .sort()
        .join() === moved.join()
    );
  }, 'the bots of the lost nodes');
  const bots = await botsOf(service);
  expect(bots.find(({ id }) => id === 'w1')).toMatchObject({
    node: 'h3',
    labels: { made: 'earlier' },
  });
  // One that waits for its node is shown, although no node has published it since.
  expect(bots.find(({ id }) => id === 'far1')).toMatchObject({
    node: 'h2',
    status: 'lost',
    failover: 'stay',
    labels: { changed: 'yes' },
  });
  const listed = await call(service, 'GET', '/api/bots', { token: recording.token });
  expect(listed.status).toBe(200);

  // The events of the recording are in the window: from the first on, and on without a hole.
  const ids: string[] = [];
  const { token } = recording;
  const follow = async (lastEventId: string, count: number): Promise<void> => {
    const stream = await RawStream.open(service.port, {
      token,
      headers: lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId },
      onBlock: (block) => {
        const [, id] = /^id: (\S+-\d+)$/m.exec(block) ?? [];
        if (id !== undefined) ids.push(id);
      },
    });
    await stream.until(() => ids.length >= count);
    stream.close();
    expect(stream.fault).toBeUndefined();
  };
  await follow('', 1);
  const [present = ''] = ids.splice(0);
  const [epoch = '', number = ''] = present.split('-');
  await follow(`${epoch}-1`, Number(number));
  expect(ids.slice(0, Number(number))).toEqual(
    Array.from({ length: Number(number) }, (_, n) => `${epoch}-${n + 2}`),
  );

  // What a node of that version asks, this one understands.
  for (const { method, data } of recording.calls) {
    const subject = clusterNames('test').calls('h3');
    const reply = await connection.request(subject, Buffer.from(data, 'base64'), {
      timeout: 30_000,
    });
    const answer = reply.json<{ v: number; error?: { code: string; message: string } }>();
    expect([method, answer.error?.code]).not.toContain('internal');
    expect(answer.error?.message ?? '').not.toMatch(/version|no message/);
  }
});

function recordsOf({ streams }: Recording): Map<string, Buffer> {
  const bots = streams.find(({ name }) => name === 'KV_drover-test-bots');
  return new Map(
    bots?.messages.map(({ subject, data }) => [
      subject.slice('$KV.drover-test-bots.'.length),
      Buffer.from(data, 'base64'),
    ]),
  );
}
