// Each subject and each bucket of a cluster, with all sorts of bytes: no crash, nothing is cut off, and every route answers as before.
//
// This is the short form. `npm run long -- fuzz --part bus` sets the environment for a long one, and FUZZ_SEED repeats a run.

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { clusterNames, EVERYONE } from '../../src/cluster/wire/names.js';
import type { NatsConnection } from '../../src/cluster/wire/nats.js';
import { call } from '../harness/api.js';
import { create, eventually } from '../harness/bots.js';
import { busCases, type Heard, sendCase } from '../harness/bus-cases.js';
import { TestCluster } from '../harness/cluster.js';
import { HoppingClient, presentNumber } from '../harness/hopping-client.js';
import { makeDir, removeDir } from '../harness/service.js';
import { allJoined, botsOf, CONFIG, createWitnesses, expectOnce } from './service.js';

const given = (name: string, otherwise: number): number =>
  Number(process.env[`FUZZ_${name}`] ?? otherwise);
const cases = given('BUS_CASES', 300);
const seed = given('SEED', 1);
/** Sent before it is looked whether all is well. */
const ROUND = 100;
const ROUTES = [
  '/api/nodes',
  '/api/bots',
  '/api/tokens',
  '/api/incidents',
  '/api/incidents/groups',
  '/api/hosts',
  '/api/kinds',
  '/api/pressure',
  '/api/events?limit=10',
  '/api/stats',
  '/api/states',
  '/metrics',
];
const names = clusterNames('test');

/** What the nodes say while they do all that they do. */
async function hear(nats: NatsConnection, cluster: TestCluster): Promise<Heard[]> {
  const heard: Heard[] = [];
  const subjects = ['drover.>', '$KV.>', '_INBOX.>'];
  const subscriptions = subjects.map((subject) =>
    nats.subscribe(subject, {
      callback: (_, message) => void heard.push({ subject: message.subject, data: message.data }),
    }),
  );
  await nats.flush();
  const [h1, h2] = [cluster.node(0).service, cluster.node(1).service];
  for (const route of ROUTES) if (route !== '/metrics') await call(h1, 'GET', route);
  await call(h1, 'POST', '/api/tokens', { body: { name: 'heard', scopes: ['read'] } });
  for (const id of ['w1', 'w2']) await call(h2, 'POST', `/api/bots/${id}/restart`);
  const invoked = { session_id: ['w1', 'w2'], command: 'heard', args: {} };
  await call(h2, 'POST', '/invoke', { body: invoked });
  const wanted = [
    ...[names.events, names.calls, names.bus].map((of) => of('')),
    ...[names.nodes, names.tokens].map((bucket) => `$KV.${bucket}.`),
  ];
  await eventually(
    () => wanted.every((one) => heard.some(({ subject }) => subject.startsWith(one))),
    'something of each sort',
  );
  for (const subscription of subscriptions) subscription.unsubscribe();
  return heard.slice(-2000);
}

it.each([false, true])(
  'a cluster keeps running (with a key: %s)',
  { timeout: 90_000 + cases * 100 },
  async (hasKey) => {
    const dir = makeDir();
    onTestFinished(() => removeDir(dir));
    const file = path.join(dir, 'key');
    writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
    const config = { ...CONFIG, cluster: { secret_key_file: hasKey ? file : null } };
    const cluster = await TestCluster.start({ nodes: 2, config });
    onTestFinished(() => cluster.stop());
    const nats = await cluster.nats[0]?.connect();
    if (!nats) throw new Error('one server');
    await allJoined(cluster);
    const [h1, h2] = cluster.nodes.map(({ service }) => service);
    if (!h1 || !h2) throw new Error('two nodes');
    const there = { node: 'h2', failover: 'stay' };
    const ids = [
      ...(await createWitnesses(cluster, cluster.node(0), 2, { log_ms: 100 })),
      ...(await createWitnesses(cluster, cluster.node(0), 2, { log_ms: 100 }, there, 'there')),
    ];
    await cluster.witness.all(ids);
    const limited = await call(h1, 'POST', '/api/tokens', {
      body: { name: 'limited', scopes: ['read'], labels: { team: 'a' } },
    });
    const { token } = limited.json as { token: string };
    const heard = await hear(nats, cluster);
    const buckets = [names.nodes, names.bots, names.tokens];
    const subjects = [
      ...['h1', 'h2', 'zz'].flatMap((node) => [
        names.events(node),
        names.calls(node),
        names.bus(node),
      ]),
      names.bus(EVERYONE),
      ...['node.h1', 'node.h2', 'node.zz', 'leader'].map((key) => `$KV.${names.nodes}.${key}`),
      ...[...ids, 'zz'].map((key) => `$KV.${names.bots}.${key}`),
      ...buckets.map((bucket) => `$KV.${bucket}.zz`),
      `$KV.${names.tokens}._secret_key`,
      // None that deletes: who may do that stops the cluster.
      ...[names.stream, `KV_${names.nodes}`].flatMap((stream) =>
        ['STREAM.INFO', 'STREAM.MSG.GET', 'DIRECT.GET', 'CONSUMER.CREATE', 'CONSUMER.NAMES'].map(
          (what) => `$JS.API.${what}.${stream}`,
        ),
      ),
      '$JS.API.INFO',
    ];
    const client = new HoppingClient(await h1.token());
    await client.hop(cluster.node(0));

    const asBefore = async (): Promise<void> => {
      await allJoined(cluster);
      for (const { service } of cluster.nodes) {
        for (const route of ROUTES) {
          const answer = await call(service, 'GET', route);
          expect([route, answer.status], answer.text).toEqual([route, 200]);
        }
        for (const route of ['/api/bots', '/api/incidents']) {
          const answer = await call(service, 'GET', route, { token });
          expect([route, answer.status], answer.text).toEqual([route, 200]);
        }
        if (!hasKey) continue;
        await eventually(async () => {
          const shown = (await botsOf(service)).map(({ id, status, node }) => [id, status, node]);
          return ids.every((id) => shown.some((one) => one[0] === id && one[1] === 'online'));
        }, 'all bots to be online');
      }
    };

    const all = busCases(seed, heard, subjects, hasKey);
    for (let sent = 0; sent < cases; ) {
      for (let n = 0; n < ROUND && sent < cases; n++, sent++) {
        const one = all.next().value;
        // What NATS does not take it says itself.
        if (one.data.length < 1_000_000) sendCase(nats, one);
      }
      await nats.flush();
      await asBefore().catch((thrown: Error) => {
        throw new Error(`seed ${seed}, after ${sent} cases: ${thrown.message}`, { cause: thrown });
      });
      if (process.env['FUZZ_PROGRESS']) process.stderr.write(`${sent} cases, key: ${hasKey}\n`);
    }

    const made = await create(h1, {
      id: 'after',
      kind: 'witness',
      config: { ...cluster.witnessAt, log_ms: 100 },
      node: 'h2',
    });
    expect(made.status, made.text).toBe(201);
    await client.hears('after');
    await client.reach((await presentNumber(cluster.node(1))) + 1);
    client.leave();
    await cluster.node(1).stop();
    // A node that starts finds records of before.
    const old = hasKey ? heard.filter(({ subject }) => subject.startsWith('$KV.')) : [];
    for (const { subject, data } of old) nats.publish(subject, data);
    await nats.flush();
    await cluster.node(1).start();
    await asBefore();
    if (!hasKey) return;
    expect(client.allFaults).toEqual([]);
    expectOnce(cluster);
  },
);
