// The past of a cluster: the same on each node, with the ids of the stream, from the journals of all of them.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { jetstreamManager } from '../../src/cluster/wire/nats.js';
import { call } from '../harness/api.js';
import { eventually } from '../harness/bots.js';
import { type ServiceNode, TestCluster } from '../harness/cluster.js';
import { allPages, epochOf, type PastEvent, pastDownload, seqOf } from '../harness/history.js';
import { HoppingClient, presentNumber, type Texts } from '../harness/hopping-client.js';
import { allJoined, CONFIG, createWitnesses } from './service.js';

const BOTS = 6;

let cluster: TestCluster;
let ids: string[];
/** What a client has heard since the start, by number. */
const texts: Texts = new Map();
let client: HoppingClient;
let epoch: string;

beforeAll(async () => {
  // A node that is not scheduled for a lease is lost to the others, and has a second to answer. Nothing here waits for a lease to end.
  cluster = await TestCluster.start({ config: CONFIG, leaseMs: 20_000 });
  await allJoined(cluster);
  client = new HoppingClient(await cluster.node(0).service.token(), texts);
  await client.hop(cluster.node(0));
  ids = await createWitnesses(cluster, cluster.node(0), BOTS, { log_ms: 40 });
  await cluster.witness.all(ids);
  for (const id of ids) await client.hears(id);
  epoch = epochOf(client.ledger.lastEventId);
});
afterAll(() => cluster?.stop());

/** A page of each node. */
const ofAll = <T>(read: (node: ServiceNode) => Promise<T>): Promise<T[]> =>
  Promise.all(cluster.nodes.map(read));

const dataOf = (block: string): unknown =>
  JSON.parse(block.slice(block.indexOf('\ndata: ') + '\ndata: '.length));

/** What the client has heard below a number, as history shows it. */
function heard(end: number): PastEvent[] {
  return [...texts]
    .filter(([seq, text]) => seq < end && !text.includes('\nevent: gap\n'))
    .map(([seq, text]) => ({
      id: `${epoch}-${seq}`,
      event: /\nevent: (\w+)\n/.exec(text)?.[1] as PastEvent['event'],
      data: dataOf(text) as PastEvent['data'],
    }));
}

const byNumber = (events: readonly PastEvent[]): PastEvent[] =>
  [...events].sort((one, other) => seqOf(one.id) - seqOf(other.id));

/** Until the client has had everything up to now. */
async function present(): Promise<number> {
  const end = await presentNumber(cluster.node(1));
  await client.reach(end);
  return end;
}

it('is the same on each node: what was on the stream, each event once, with its id', async () => {
  const end = await present();
  const first = Math.min(...texts.keys());
  const range = `after=${epoch}-${first - 1}&before=${epoch}-${end}`;
  const newest = await ofAll(({ service }) => allPages(service, `?limit=37&${range}`));
  const oldest = await ofAll(({ service }) => allPages(service, `?order=oldest&limit=41&${range}`));
  for (const events of [...newest, ...oldest]) expect(byNumber(events)).toEqual(heard(end));
  expect(newest.map((events) => events.map(({ id }) => id))).toEqual(
    Array(3).fill(newest[0]?.map(({ id }) => id)),
  );
  // Merged by time, and what is from one bot stays in its order.
  for (const id of ids) {
    // An activity is from the node that took the request.
    const isOwn = ({ event, data }: PastEvent): boolean =>
      event !== 'activity' && data.session_id === id;
    const own = oldest[0]?.filter(isOwn) ?? [];
    expect(own).toEqual(byNumber(own));
    expect(own.length).toBeGreaterThan(1);
  }
});

it('is filtered by node, by bot, by text and by time, and is downloaded', async () => {
  const end = await present();
  const until = `&before=${epoch}-${end}`;
  const [whole, byNode, byBot, byText] = await Promise.all(
    ['', '&node=h2', `&session=${ids[0]}`, '&q=of%20run'].map((query) =>
      allPages(cluster.node(2).service, `?order=oldest&limit=1000${until}${query}`),
    ),
  );
  const own = await allPages(cluster.node(1).service, '?order=oldest&limit=1000&node=self');
  const texts = new Set(own.map(({ data }) => JSON.stringify(data)));
  expect(byNode?.length).toBeGreaterThan(0);
  expect(byNode?.filter(({ data }) => !texts.has(JSON.stringify(data)))).toEqual([]);
  const wanted = (fits: (event: PastEvent) => boolean) => byNumber(whole?.filter(fits) ?? []);
  expect(byNumber(byBot ?? [])).toEqual(
    wanted(({ data }) => data.session_id === ids[0] || data.snapshot?.id === ids[0]),
  );
  expect(byNumber(byText ?? [])).toEqual(
    wanted(({ data }) => data.message?.includes('of run') ?? false),
  );
  expect(await pastDownload(cluster.node(0).service, until)).toEqual(whole);
  const [byQuery, others] = await Promise.all(
    [`node:h2 "of run" -session:${ids[0]}`, '-node:h2'].map((query) =>
      allPages(
        cluster.node(0).service,
        `?order=oldest&limit=1000${until}&query=${encodeURIComponent(query)}`,
      ),
    ),
  );
  const isOf = ({ data }: PastEvent): boolean => texts.has(JSON.stringify(data));
  expect(byNumber(others ?? [])).toEqual(wanted((event) => !isOf(event)));
  expect(byNumber(byQuery ?? [])).toEqual(
    wanted(
      (event) =>
        isOf(event) &&
        (event.data.message?.includes('of run') ?? false) &&
        event.data.session_id !== ids[0],
    ),
  );
  const middle = whole?.[Math.floor(whole.length / 2)]?.data.timestamp_ms ?? Date.now();
  const later = await allPages(
    cluster.node(0).service,
    `?order=oldest&limit=1000&after=${middle}${until}&event=log`,
  );
  expect(byNumber(later)).toEqual(
    wanted(({ event, data }) => event === 'log' && (data.timestamp_ms ?? 0) >= middle),
  );
});

it('its statistics are the sum of those of the nodes', async () => {
  await present();
  const before = Date.now();
  const query = `?after=${before - 600_000}&before=${before}&step=600`;
  interface Answer {
    buckets: { events: number; scopes: Record<string, number> }[];
    missing?: unknown[];
  }
  const read = async ({ service }: ServiceNode, more = ''): Promise<Answer> =>
    (await call(service, 'GET', `/api/stats${query}${more}`)).json as Answer;
  const sumOf = (answers: readonly Answer[]): number =>
    answers.reduce((sum, one) => sum + one.buckets.reduce((all, { events }) => all + events, 0), 0);
  // What is counted of this moment grows until it is over.
  await eventually(async () => {
    const merged = await read(cluster.node(0));
    expect(merged.missing).toEqual([]);
    return sumOf([merged]) === sumOf(await ofAll((node) => read(node, '&node=self')));
  }, 'the sum of the nodes');
});

it('has what a field of a bot was, whichever node is asked', async () => {
  const end = Date.now();
  // Nothing of before is still on its way.
  await present();
  const path = `/api/bots/${ids[0]}/history?field=status,node&points=4&before=${end}`;
  const answers = await ofAll(async ({ service }) => (await call(service, 'GET', path)).json);
  const node = { min: null, max: null, last: expect.stringMatching(/^h[123]$/) };
  const point = expect.objectContaining({ values: expect.objectContaining({ node }) });
  expect(answers[0]).toMatchObject({ missing: [], points: expect.arrayContaining([point]) });
  expect(answers).toEqual(Array(3).fill(answers[0]));
});

it('its counts of a query are the sum of those of the nodes, and its past states have the bots of all', async () => {
  await present();
  const before = Date.now();
  const query = `?after=${before - 600_000}&before=${before}&step=600&query=level:info`;
  interface Counts {
    buckets: { events: number }[];
    counted_from_ms: number | null;
  }
  const read = async ({ service }: ServiceNode, more = ''): Promise<Counts> =>
    (await call(service, 'GET', `/api/stats${query}${more}`)).json as Counts;
  const sumOf = (answers: readonly Counts[]): number =>
    answers.reduce((sum, one) => sum + one.buckets.reduce((all, { events }) => all + events, 0), 0);
  // Lines of this moment are still on their way.
  await eventually(async () => {
    const merged = await read(cluster.node(0));
    expect(merged.counted_from_ms).toBeNull();
    const sum = sumOf([merged]);
    return sum > 0 && sum === sumOf(await ofAll((node) => read(node, '&node=self')));
  }, 'the sum of the nodes');

  const statesOf = async ({ service }: ServiceNode, more = ''): Promise<string[]> => {
    const { json } = await call(service, 'GET', `/api/states?at=${before}${more}`);
    return (json as { states: { id: string; node: string }[] }).states
      .map(({ id, node }) => `${id} on ${node}`)
      .sort();
  };
  await eventually(async () => {
    const all = await statesOf(cluster.node(0));
    const ofNodes = (await ofAll((node) => statesOf(node, '&node=self'))).flat().sort();
    return all.length > 0 && JSON.stringify(all) === JSON.stringify(ofNodes);
  }, 'the states of all nodes');
});

it('names a node that is frozen while it is asked, within the time of the request, and is complete when it wakes', async () => {
  const end = await present();
  const { service } = cluster.node(0);
  const until = `order=oldest&limit=1000&before=${epoch}-${end}`;
  const before = Date.now();
  const range = `after=${before - 600_000}&before=${before}&step=600`;
  const paths = [
    `/api/events?${until}`,
    `/api/events?${until}&q=of%20run`,
    `/api/events?${until}&query=level:info`,
    `/api/stats?${range}`,
    `/api/stats?${range}&query=level:info`,
    `/api/states?at=${before}`,
    `/api/bots/${ids[0]}/history?field=status&before=${before}`,
  ];
  const read = (asked: readonly string[]) =>
    Promise.all(asked.map((path) => call(service, 'GET', path)));
  const missingOf = (answers: readonly { json: unknown }[]): unknown[] =>
    answers.map(({ json }) => (json as { missing: unknown }).missing);
  const whole = await allPages(service, `?${until}`);
  cluster.node(2).suspend();
  const [[only], answers] = await Promise.all([
    read([`/api/events?${until}&node=h3`]),
    read(paths),
  ]).finally(() => cluster.node(2).resume());
  expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
  const reason = 'node h3 cannot be reached: it does not answer in time';
  const missing = [{ node: 'h3', reason }];
  expect(missingOf(answers)).toEqual(paths.map(() => missing));
  expect([only?.status, only?.json]).toEqual([503, { error: reason }]);
  const [{ events }] = answers.map(({ json }) => json) as [{ events: PastEvent[] }];
  const known = new Set(whole.map(({ id }) => id));
  expect(events.length).toBeGreaterThan(0);
  expect(events.filter(({ id }) => !known.has(id))).toEqual([]);
  await allJoined(cluster);
  expect(missingOf(await read(paths))).toEqual(paths.map(() => []));
  expect((await allPages(service, `?${until}`)).map(({ id }) => id)).toEqual(
    whole.map(({ id }) => id),
  );
});

it('names a node that does not answer, and has its events again, with their ids, when it is back', async () => {
  const end = await present();
  const until = `?order=oldest&limit=1000&before=${epoch}-${end}`;
  const whole = await allPages(cluster.node(0).service, until);
  await cluster.node(2).kill();
  const page = await call(cluster.node(0).service, 'GET', `/api/events${until}`);
  expect(page.status, page.text).toBe(200);
  const { events, missing } = page.json as { events: PastEvent[]; missing: { node: string }[] };
  expect(missing.map(({ node }) => node)).toEqual(['h3']);
  expect(events.length).toBeLessThan(whole.length);
  const only = await call(cluster.node(0).service, 'GET', `/api/events${until}&node=h3`);
  expect([only.status, only.json]).toEqual([503, { error: expect.any(String) }]);
  await cluster.node(2).start();
  await allJoined(cluster);
  const again = await allPages(cluster.node(1).service, until);
  expect(again.map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
});

it('what has left the window of JetStream comes from the journals, each event once', async () => {
  // What a test has started ends with it.
  await cluster.node(2).kill();
  await cluster.node(2).start();
  await allJoined(cluster);
  for (const id of ids) await client.hears(id);
  await present();
  const resumed = new HoppingClient(await cluster.node(0).service.token(), texts);
  await resumed.hop(cluster.node(0));
  for (const id of ids) await resumed.hears(id);
  resumed.leave();
  const from = resumed.ledger.last ?? 0;
  for (const id of ids) await client.hears(id);
  // The ring of a node that starts again begins where the stream is then.
  await cluster.node(1).stop();
  const end = await presentNumber(cluster.node(0));
  await cluster.node(1).start();
  await allJoined(cluster);
  const [nats] = cluster.nats;
  if (!nats) throw new Error('there is no NATS server');
  const manager = await jetstreamManager(await nats.connect());
  const { stream } = clusterNames('test');
  await manager.streams.purge(stream);
  await resumed.hop(cluster.node(1));
  const later = await present();
  await resumed.reach(later);
  resumed.leave();
  expect(resumed.allFaults).toEqual([]);
  expect(end).toBeGreaterThan(from);
  // All but what the leader has said of lost nodes: their bots' last snapshots are in no journal. Other gaps were on the stream.
  const shown = new Set(client.ledger.gaps.map(({ to }) => to));
  const gaps = resumed.ledger.gaps.filter(({ to }) => !shown.has(to));
  const missing = gaps.flatMap((gap) =>
    Array.from({ length: gap.to - gap.from + 1 }, (_, at) => texts.get(gap.from + at) ?? ''),
  );
  expect(missing.filter((text) => !text.includes('"status":"lost"'))).toEqual([]);
});
