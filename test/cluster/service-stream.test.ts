// One exact stream: the same ids on each node, over hops, while NATS is away, and from the journals.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../harness/bots.js';
import { TestCluster } from '../harness/cluster.js';
import { allPages } from '../harness/history.js';
import { HoppingClient, presentNumber, type Texts } from '../harness/hopping-client.js';
import { allJoined, CONFIG, createWitnesses, expectOnce } from './service.js';

let cluster: TestCluster;
let ids: string[];
beforeAll(async () => {
  cluster = await TestCluster.start({ config: CONFIG });
  await allJoined(cluster);
  ids = await createWitnesses(cluster, cluster.node(0), 6, { log_ms: 50 });
  await cluster.witness.all(ids);
});
afterAll(() => cluster?.stop());

/** A client on each node, from now on. */
async function clients(texts: Texts): Promise<HoppingClient[]> {
  return Promise.all(
    cluster.nodes.map(async (node) => {
      const client = new HoppingClient(await node.service.token(), texts);
      await client.hop(node);
      return client;
    }),
  );
}

/** Each bot was heard by each of them. */
async function allHear(all: readonly HoppingClient[]): Promise<void> {
  await Promise.all(all.flatMap((client) => ids.map((id) => client.hears(id))));
}

it('an id is the same event on each node, and nothing is missing', async () => {
  const texts: Texts = new Map();
  const all = await clients(texts);
  await allHear(all);
  const end = await presentNumber(cluster.node(0));
  await Promise.all(all.map((client) => client.reach(end)));
  for (const client of all) {
    client.leave();
    expect(client.allFaults).toEqual([]);
    expect(client.ledger.gaps).toEqual([]);
    expect(client.ledger.accounted).toBe((client.ledger.last ?? 0) - (client.ledger.first ?? 0));
  }
  expect(texts.size).toBeGreaterThanOrEqual(ids.length);
});

it('a client that goes from node to node gets every event once', async () => {
  const texts: Texts = new Map();
  const [still, hopper] = await clients(texts);
  if (!still || !hopper) throw new Error('three nodes');
  for (let n = 0; n < 12; n++) {
    await hopper.hop(cluster.node(n % 3));
    await hopper.hears(ids[n % ids.length] ?? '');
  }
  const end = await presentNumber(cluster.node(1));
  await Promise.all([still.reach(end), hopper.reach(end)]);
  for (const client of [still, hopper]) {
    client.leave();
    expect(client.allFaults).toEqual([]);
    expect(client.ledger.gaps).toEqual([]);
  }
});

it('what happened while NATS was away is on the stream afterwards, and the journals agree', async () => {
  const { servers } = { servers: cluster.nats };
  const texts: Texts = new Map();
  const all = await clients(texts);
  await allHear(all);
  const from = all[0]?.ledger.first ?? 0;
  await Promise.all(servers.map((server) => server.kill()));
  // Shorter than a lease: no bot stops.
  await Promise.all(
    all.map(({ ledger }) => eventually(() => ledger.cluster.length > 0, 'cut_off')),
  );
  expect(all.map(({ ledger }) => ledger.cluster[0])).toEqual(['cut_off', 'cut_off', 'cut_off']);
  await Promise.all(servers.map((server) => server.run()));
  await Promise.all(
    all.map(({ ledger }) => eventually(() => ledger.cluster.at(-1) === 'on', 'the cluster')),
  );
  await allHear(all);
  const end = await presentNumber(cluster.node(2));
  await Promise.all(all.map((client) => client.reach(end)));
  for (const client of all) {
    client.leave();
    expect(client.allFaults).toEqual([]);
    expect(client.ledger.gaps).toEqual([]);
  }
  // Each node's journal has what that node has published.
  const journals = await Promise.all(
    cluster.nodes.map(({ service }) => allPages(service, '?order=oldest&limit=1000&node=self')),
  );
  const found = new Set(journals.flat().map(({ data }) => JSON.stringify(data)));
  for (const [seq, text] of texts) {
    if (seq <= from || seq > end) continue;
    const data = text.slice(text.indexOf('\ndata: ') + '\ndata: '.length);
    expect([seq, found.has(JSON.stringify(JSON.parse(data)))]).toEqual([seq, true]);
  }
  expectOnce(cluster);
});
