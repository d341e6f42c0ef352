// What is no message of Drover, on the subjects and in the buckets of a cluster: it is refused, named, and stops nothing.

import { expect, it, onTestFinished } from 'vitest';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { headers, Kvm, type NatsConnection } from '../../src/cluster/wire/nats.js';
import { call } from '../harness/api.js';
import { create, eventually } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { HoppingClient, presentNumber } from '../harness/hopping-client.js';
import { allJoined, botsOf, CONFIG, createWitnesses, nodesOf } from './service.js';

const names = clusterNames('test');

async function start(nodes: number): Promise<{ cluster: TestCluster; nats: NatsConnection }> {
  const cluster = await TestCluster.start({ nodes, config: CONFIG });
  onTestFinished(() => cluster.stop());
  const nats = await cluster.nats[0]?.connect();
  if (!nats) throw new Error('one server');
  await allJoined(cluster);
  return { cluster, nats };
}

it('messages of the stream that are no blocks are gaps, also for a node that starts', async () => {
  const { cluster, nats } = await start(2);
  const ids = await createWitnesses(cluster, cluster.node(0), 2, { log_ms: 50 });
  await cluster.witness.all(ids);
  const client = new HoppingClient(await cluster.node(0).service.token());
  await client.hop(cluster.node(0));
  for (const node of ['zz', 'h1', 'h2', 'a b']) {
    for (const text of ['12345', '', '{"v":99}'])
      if (!node.includes(' ')) nats.publish(names.events(node), text);
  }
  await nats.flush();
  await eventually(() => client.ledger.gaps.length > 0, 'a gap');
  await cluster.node(1).stop();
  await cluster.node(1).start();
  await allJoined(cluster);
  await client.reach((await presentNumber(cluster.node(1))) + 1);
  client.leave();
  expect(client.allFaults).toEqual([]);
});

it('a call passes the checks of HTTP', async () => {
  const { cluster, nats } = await start(2);
  const rights = { scopes: ['admin'], reach: null };
  const bots = [
    { id: '../../x', kind: 'witness', config: cluster.witnessAt, labels: {}, desired: 'stopped' },
    { id: 'x', kind: 'witness', config: cluster.witnessAt, labels: null, desired: 'stopped' },
  ];
  for (const [n, bot] of bots.entries()) {
    const input = { bot: { dedicated: false, ...bot }, rights, sealed: null };
    const message = { v: 1, id: `c${n}`, method: 'createBot', input, deadline_ms: 5000 };
    const answer = await nats.request(names.calls('h1'), JSON.stringify(message));
    expect(answer.json()).toMatchObject({ error: { code: 'bad_request' } });
  }
  const made = await call(cluster.node(0).service, 'POST', '/api/tokens', {
    body: { name: 'limited', scopes: ['read'], labels: { team: 'a' } },
  });
  const { token } = made.json as { token: string };
  for (const { service } of cluster.nodes) {
    expect((await call(service, 'GET', '/api/bots', { token })).status).toBe(200);
    expect(await botsOf(service)).toEqual([]);
  }
});

it('a record with a status of NATS is a bad one, and ends no watch', async () => {
  const { cluster, nats } = await start(2);
  const keys = [100, 400, 404, 409, 503].map((status) => {
    const key = `z${status}`;
    nats.publish(`$KV.${names.bots}.${key}`, 'x', { headers: headers(status, 'forged') });
    return key;
  });
  await nats.flush();
  const shown = async (): Promise<void> => {
    for (const { service } of cluster.nodes) {
      await eventually(async () => {
        const { bad_records: bad = [] } = await nodesOf(service);
        return keys.every((key) => bad.some((one) => one.key === key));
      }, 'the records to be shown');
    }
  };
  await shown();
  await cluster.node(1).stop();
  await cluster.node(1).start();
  await allJoined(cluster);
  await shown();
});

it('a record of a token that is none is not one', async () => {
  const { cluster, nats } = await start(2);
  const tokens = await new Kvm(nats).open(names.tokens);
  const record = { id: 'bad', digest: 'x', scopes: ['admin'] };
  await tokens.put('bad', JSON.stringify({ v: 1, node: 'h9', record, use: null }));
  for (const { service } of cluster.nodes) {
    await eventually(() => /the record of token bad/.test(service.stderr()), 'a line');
    expect((await call(service, 'GET', '/api/tokens')).status).toBe(200);
  }
  const made = await create(cluster.node(1).service, {
    id: 'w',
    kind: 'witness',
    config: cluster.witnessAt,
  });
  expect(made.status).toBe(201);
});
