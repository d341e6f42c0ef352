// Tokens that are limited to some bots, on a cluster whose bots move, change their labels and are deleted: the past of several nodes
// and the stream show such a token what it may see, and all of that. Everything is compared with what an unlimited token reads.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { jetstreamManager } from '../../src/cluster/wire/nats.js';
import { call, expectError } from '../harness/api.js';
import { act, create, eventually, incidents, invoke, remove } from '../harness/bots.js';
import { type ServiceNode, TestCluster } from '../harness/cluster.js';
import { allPages, epochOf, type PastEvent, seqOf } from '../harness/history.js';
import { HoppingClient, presentNumber } from '../harness/hopping-client.js';
import { RawStream } from '../harness/raw-stream.js';
import { makeToken } from '../harness/tokens.js';
import { allJoined, CONFIG } from './service.js';

type Labels = Record<string, string>;
const A = { team: 'a' };
const B = { team: 'b' };
/** Where each bot begins, and with which labels. */
const BOTS: Record<string, { node: string; labels: Labels; kind?: string }> = {
  stays: { node: 'h1', labels: A },
  other: { node: 'h2', labels: B },
  moves: { node: 'h1', labels: A },
  gone: { node: 'h3', labels: A },
  // Moves, and leaves the team there.
  turns: { node: 'h1', labels: A },
  // Moves, and joins the team there.
  comes: { node: 'h2', labels: B },
  breaks: { node: 'h1', labels: A, kind: 'faulty' },
  hidden: { node: 'h1', labels: B, kind: 'faulty' },
};
/** What a token may see. */
interface Reach {
  body: { bots: string[] } | { labels: Labels };
  reaches: (bot: string, labels: Labels) => boolean;
}
const NAMED = ['stays', 'moves', 'gone', 'breaks'];
const REACHES: Record<'bots' | 'labels', Reach> = {
  bots: { body: { bots: NAMED }, reaches: (bot) => NAMED.includes(bot) },
  labels: { body: { labels: A }, reaches: (_, labels) => labels['team'] === 'a' },
};
type Name = keyof typeof REACHES;
const NAMES = Object.keys(REACHES) as Name[];

let cluster: TestCluster;
const tokens = {} as Record<Name, string>;
/** What each of them reads from the beginning, and what it has read when it left before bots moved. */
const live = {} as Record<Name, Reader>;
const left = {} as Record<Name, Reader>;
/** Before bots moved, in Unix epoch ms. */
let early: number;
/** Number of the event after the last one. Nothing happens after it. */
let end: number;
/** All events on the stream, by number. */
let whole: PastEvent[];

const service = (n: number) => cluster.node(n).service;

/** A client of the stream, which may go from node to node. */
class Reader {
  readonly events = new Map<number, PastEvent>();
  readonly gaps: PastEvent['data'][] = [];
  /** The ids of the bots of which it got snapshots that are no events. */
  readonly shown = new Set<string>();
  first: number | undefined;
  last = '';
  readonly #token: string;
  #stream: RawStream | undefined;

  constructor(token: string) {
    this.#token = token;
  }

  async hop({ service: { port } }: ServiceNode): Promise<this> {
    this.leave();
    this.#stream = await RawStream.open(port, {
      token: this.#token,
      headers: this.last === '' ? {} : { 'Last-Event-ID': this.last },
      onBlock: (block) => this.#take(block),
    });
    await this.#stream.until(() => this.last !== '');
    return this;
  }

  /** Until it has everything below this number. */
  async reach(number: number): Promise<void> {
    await this.#stream?.until(() => seqOf(this.last) >= number - 1);
  }

  async hears(bot: string): Promise<void> {
    const isHeard = (): boolean =>
      [...this.events.values()].some(({ event, data }) => event === 'log' && botOf(data) === bot);
    await this.#stream?.until(isHeard);
  }

  leave(): void {
    this.#stream?.close();
  }

  #take(block: string): void {
    const [, id] = /^(?:id|: position):? (\S+)$/m.exec(block) ?? [];
    const event = /^event: (\w+)$/m.exec(block)?.[1] as PastEvent['event'] | undefined;
    const json = /^data: (.*)$/m.exec(block)?.[1];
    const data = json === undefined ? undefined : (JSON.parse(json) as PastEvent['data']);
    if (id) {
      this.first ??= seqOf(id);
      this.last = id;
    }
    if (!event || !data || event === 'activity') return;
    if (event === 'gap') this.gaps.push(data);
    else if (id) this.events.set(seqOf(id), { id, event, data });
    else if (data.snapshot) this.shown.add(data.snapshot.id);
  }
}

/** Activities are on the stream of the node that took the request: that is judged in service-commands.test.ts. */
function isOfBot(event: PastEvent['event']): boolean {
  return event !== 'gap' && event !== 'activity';
}

function botOf(data: PastEvent['data']): string | null {
  return data.snapshot?.id ?? data.session_id ?? null;
}

/** What a token may see of all events: of each bot what it wrote while it was reached, and the changes into reach and out of it. */
function visible({ body, reaches }: Reach): PastEvent[] {
  const reached = new Set('bots' in body ? body.bots : []);
  return whole.filter(({ data }) => {
    const bot = botOf(data);
    if (bot === null) return false;
    const before = reached.has(bot);
    const labels = (data.snapshot as { labels?: Labels } | undefined)?.labels;
    if (!labels) return before;
    const after = reaches(bot, labels);
    if (after) reached.add(bot);
    else reached.delete(bot);
    return before || after;
  });
}

/** The lines with which bots begin on another node. The journal there learns their labels from the snapshot that follows. */
function firstLines(): Set<string> {
  const nodes = new Map<string, string>();
  const lines = new Map<string, string>();
  const found = new Set<string>();
  for (const { id, event, data } of whole) {
    const bot = botOf(data) ?? '';
    if (event === 'log') lines.set(bot, id);
    const node = (data.snapshot as { node?: string } | undefined)?.node;
    if (node === undefined) continue;
    if (nodes.has(bot) && nodes.get(bot) !== node) found.add(lines.get(bot) ?? '');
    nodes.set(bot, node);
  }
  return found;
}

const byNumber = (events: readonly PastEvent[]): PastEvent[] =>
  [...events].sort((one, other) => seqOf(one.id) - seqOf(other.id));

/** Events on the stream of the cluster, and the ids of the bots of others, such as of the snapshot of a bot that left its node. */
function parted(events: readonly PastEvent[]): { onStream: PastEvent[]; others: Set<string> } {
  const epoch = epochOf(whole[0]?.id ?? '');
  const some = events.filter(({ event }) => isOfBot(event));
  const onStream = byNumber(some.filter(({ id }) => epochOf(id) === epoch));
  const others = some.filter(({ id }) => epochOf(id) !== epoch);
  return { onStream, others: new Set(others.map(({ data }) => botOf(data) ?? '')) };
}

/** Until a node shows the bot on that node, online. */
async function online(bot: string, node: string): Promise<void> {
  await eventually(async () => {
    const { json } = await call(service(0), 'GET', `/api/bots/${bot}`);
    const shown = json as { node?: string; status?: string };
    return shown.node === node && shown.status === 'online';
  }, `${bot} on ${node}`);
}

async function change(bot: string, body: object): Promise<void> {
  const answer = await call(service(2), 'PATCH', `/api/bots/${bot}`, { body });
  expect(answer.status, answer.text).toBe(200);
}

beforeAll(async () => {
  cluster = await TestCluster.start({ config: CONFIG });
  await allJoined(cluster);
  for (const name of NAMES) {
    tokens[name] = (await makeToken(service(0), REACHES[name].body)).token;
    for (const { service: own } of cluster.nodes)
      await eventually(
        async () => (await call(own, 'GET', '/api/bots', { token: tokens[name] })).status === 200,
        'the token on each node',
      );
    live[name] = await new Reader(tokens[name]).hop(cluster.node(2));
    left[name] = await new Reader(tokens[name]).hop(cluster.node(1));
  }
  for (const [id, { kind = 'witness', ...spec }] of Object.entries(BOTS)) {
    const config = kind === 'witness' ? { ...cluster.witnessAt, log_ms: 40 } : {};
    const made = await create(service(1), { id, kind, config, ...spec });
    expect(made.status, made.text).toBe(201);
    if (kind === 'witness') await online(id, spec.node);
  }
  for (const name of NAMES) {
    await left[name].hears('gone');
    left[name].leave();
  }
  for (const id of ['breaks', 'hidden']) {
    await invoke(service(1), id, 'cause', { fault: 'timer' });
    await eventually(async () => (await incidents(service(2), id)).length > 0, `incident of ${id}`);
  }
  early = Date.now();
  await Promise.all([change('moves', { node: 'h2' }), change('turns', { node: 'h2' })]);
  await change('comes', { node: 'h3' });
  await online('moves', 'h2');
  await online('turns', 'h2');
  await online('comes', 'h3');
  await change('turns', { labels: B });
  await change('comes', { labels: A });
  await live.labels.hears('comes');
  expect((await remove(service(0), 'gone')).status).toBe(204);
  for (const id of Object.keys(BOTS)) if (id !== 'gone') await act(service(0), id, 'stop');
  const client = new HoppingClient(await service(0).token());
  await client.hop(cluster.node(0));
  await eventually(async () => {
    const { json } = await call(service(0), 'GET', '/api/bots');
    return (json as { bots: { status: string }[] }).bots.every(
      ({ status }) => status === 'stopped',
    );
  }, 'all bots to be stopped');
  client.leave();
  end = (await presentNumber(cluster.node(0))) + 1;
  const { lastEventId } = client.ledger;
  const all = await allPages(
    service(0),
    `?order=oldest&limit=1000&before=${epochOf(lastEventId)}-${end}`,
  );
  whole = byNumber(
    all.filter(({ id, event }) => epochOf(id) === epochOf(lastEventId) && isOfBot(event)),
  );
});
afterAll(() => cluster?.stop());

const until = (): string => `before=${epochOf(whole[0]?.id ?? '')}-${end}`;

it.for(NAMES)('by %s: pages and searches show what it may see, on each node', async (name) => {
  const unknown = name === 'labels' ? firstLines() : new Set();
  const wanted = visible(REACHES[name]).filter(({ id }) => !unknown.has(id));
  const bots = new Set(wanted.map(({ data }) => botOf(data)));
  expect(bots).toContain('moves');
  expect(bots).not.toContain('other');
  for (const { service: own } of cluster.nodes) {
    const read = (query: string): Promise<PastEvent[]> =>
      allPages(own, `?${query}&${until()}`, tokens[name]);
    for (const query of ['limit=97', 'order=oldest&limit=1000']) {
      const { onStream, others } = parted(await read(query));
      expect(onStream).toEqual(wanted);
      expect([...others].filter((bot) => !bots.has(bot))).toEqual([]);
    }
    const isLine = ({ data }: PastEvent): boolean => data.message?.includes('of run') ?? false;
    for (const search of ['q=of%20run', `query=${encodeURIComponent('"of run"')}`]) {
      expect(parted(await read(`limit=1000&${search}`)).onStream).toEqual(wanted.filter(isLine));
    }
    // It asks for bots that it does not reach.
    expect(parted(await read('limit=1000&session=other,hidden')).onStream).toEqual([]);
  }
});

it.for(NAMES)('by %s: statistics count what it may see', async (name) => {
  const token = tokens[name];
  const isInfo = ({ data }: PastEvent): boolean => data.level === 'info';
  const before = Date.now();
  const range = `after=${before - 600_000}&before=${before}&step=600`;
  const query = encodeURIComponent('level:info "of run"');
  const lines = visible(REACHES[name]).filter(
    (event) => isInfo(event) && (event.data.message?.includes('of run') ?? false),
  );
  for (const { service: own } of cluster.nodes) {
    const { json } = await call(own, 'GET', `/api/stats?${range}&query=${query}`, { token });
    const { buckets } = json as { buckets: { events: number }[] };
    expect(buckets.reduce((sum, { events }) => sum + events, 0)).toBe(lines.length);
    expectError(await call(own, 'GET', `/api/stats?${range}`, { token }), 403);
  }
});

interface State {
  id: string;
  node: string;
  labels: Labels;
}

/** What bots were, as one node shows it to a token. */
async function statesAt(ms: number, own = service(0), token?: string): Promise<State[]> {
  const options = token === undefined ? {} : { token };
  const { json, status, text } = await call(own, 'GET', `/api/states?at=${ms}`, options);
  expect(status, text).toBe(200);
  const { states, missing } = json as { states: State[]; missing: unknown[] };
  expect(missing).toEqual([]);
  return states.sort((one, other) => (one.id < other.id ? -1 : 1));
}

it.for(NAMES)('by %s: states of the past are those of bots that it reached then', async (name) => {
  const { reaches } = REACHES[name];
  for (const at of [early, Date.now()]) {
    const all = await statesAt(at);
    const wanted = all.filter(({ id, labels }) => reaches(id, labels));
    expect(wanted.length).toBeGreaterThan(2);
    for (const { service: own } of cluster.nodes)
      expect(await statesAt(at, own, tokens[name])).toEqual(wanted);
  }
});

it('the past of a field is that of bots that it reaches now, from when it did', async () => {
  const path = (bot: string): string => `/api/bots/${bot}/history?field=node&points=100`;
  interface Answer {
    points: { values: Record<string, { last: unknown }> }[];
  }
  const read = async (bot: string, name: Name): Promise<unknown[][]> => {
    const { json } = await call(service(2), 'GET', path(bot), { token: tokens[name] });
    return (json as Answer).points.map(({ values }) =>
      Object.values(values).map(({ last }) => last),
    );
  };
  for (const name of NAMES) {
    const token = tokens[name];
    const nodes = (await read('moves', name)).map(([node]) => node);
    expect(nodes.at(-1)).toBe('h2');
    for (const bot of ['other', 'hidden', 'turns', 'gone'])
      expectError(await call(service(2), 'GET', path(bot), { token }), 404);
  }
  expect((await read('comes', 'labels')).map(([node]) => node)).not.toContain('h2');
  expectError(await call(service(2), 'GET', path('comes'), { token: tokens.bots }), 404);
});

it.for(NAMES)(
  'by %s: incidents and their groups are those of bots that it reaches',
  async (name) => {
    const token = tokens[name];
    for (const { service: own } of cluster.nodes) {
      for (const path of ['/api/incidents', '/api/incidents/groups']) {
        const { status, text } = await call(own, 'GET', path, { token });
        expect(status, text).toBe(200);
        expect(text).toContain('"breaks"');
        for (const bot of ['hidden', 'other']) expect(text).not.toContain(bot);
      }
    }
  },
);

it.for(NAMES)(
  'by %s: its stream has what it may see, also when it continues on another node',
  async (name) => {
    const wanted = visible(REACHES[name]);
    const since = (reader: Reader): PastEvent[] =>
      wanted.filter(({ id }) => seqOf(id) > (reader.first ?? 0));
    const still = live[name];
    await still.reach(seqOf(wanted.at(-1)?.id ?? '') + 1);
    expect(still.gaps).toEqual([]);
    expect([...still.events.values()]).toEqual(since(still));
    const hopper = new Reader(tokens[name]);
    hopper.last = `${epochOf(still.last)}-${still.first}`;
    hopper.first = still.first;
    await hopper.hop(cluster.node(1));
    await hopper.reach(seqOf(wanted.at(-1)?.id ?? '') + 1);
    expect(hopper.gaps).toEqual([]);
    expect([...hopper.events.values()]).toEqual(since(still));
    for (const reader of [still, hopper]) reader.leave();
  },
);

it('behind the window: a token of bots gets all from the journals, one of labels a gap', async () => {
  // The ring of a node that starts again begins where the stream is then.
  await cluster.node(1).stop();
  await cluster.node(1).start();
  await allJoined(cluster);
  const [nats] = cluster.nats;
  if (!nats) throw new Error('there is no NATS server');
  const manager = await jetstreamManager(await nats.connect());
  await manager.streams.purge(clusterNames('test').stream);
  for (const name of NAMES) {
    const reader = left[name];
    const before = reader.events.size;
    const wanted = visible(REACHES[name]).filter(({ id }) => seqOf(id) > (reader.first ?? 0));
    await reader.hop(cluster.node(1));
    await reader.reach(end);
    reader.leave();
    const got = [...reader.events.values()].filter(({ id }) => seqOf(id) < end);
    // Behind the end: that the bots of the node that was stopped are lost is in no journal.
    const gaps = reader.gaps.filter(({ from }) => seqOf(from ?? '') < end);
    expect(gaps).toHaveLength(name === 'bots' ? 0 : 1);
    expect(got).toEqual(name === 'bots' ? wanted : wanted.slice(0, before));
    const reached = new Set(visible(REACHES[name]).map(({ data }) => botOf(data)));
    expect([...reader.shown].filter((bot) => !reached.has(bot) || bot === 'turns')).toEqual([]);
  }
});
