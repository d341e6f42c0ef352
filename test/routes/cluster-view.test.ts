// A front with two streams: that of its node, and that of a cluster. What clients get by default, with ?node=, and when it changes.

import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { create } from '../harness/bots.js';
import { ClusterStream } from '../harness/cluster-stream.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { logs, snapshotOf } from '../harness/shapes.js';
import { type SseStream, streamOn } from '../harness/sse.js';

const EPOCH = 'c1c1c1c1c1';
let service: InjectedService;
let cluster: ClusterStream;

beforeEach(async () => {
  service = await inject();
  await create(service, { id: 'own', kind: 'synthetic', config: { events_per_second: 1 } });
  cluster = new ClusterStream(EPOCH, 101);
  cluster.bot('h1', 'own');
  cluster.bot('h2', 'other');
});

async function open(query = '', lastEventId?: string): Promise<SseStream> {
  const stream = await streamOn(service, `/events${query}`, {
    token: await service.token(),
    ...(lastEventId === undefined ? {} : { headers: { 'last-event-id': lastEventId } }),
  });
  onTestFinished(() => stream.close());
  return stream;
}

const messages = (stream: SseStream): string[] => logs(stream).map(({ message }) => message);
const bots = (stream: SseStream): (string | undefined)[] =>
  stream.frames.filter(({ event }) => event === 'session').map((frame) => snapshotOf(frame)?.id);
const untilMessage = (stream: SseStream, message: string): Promise<void> =>
  stream.until(() => messages(stream).includes(message));
async function list(query = ''): Promise<string[]> {
  const { status, json, text } = await call(service, 'GET', `/api/bots${query}`);
  expect(status, text).toBe(200);
  return (json as { bots: { id: string }[] }).bots.map(({ id }) => id);
}

it('is the default from the moment on that it is there, and until it is gone', async () => {
  expect(await list()).toEqual(['own']);
  expect(await list('?node=self')).toEqual(['own']);
  const before = await open();
  const asked = await open('?node=self');
  await asked.until(() => asked.position !== undefined);
  await service.attachCluster(cluster);

  expect(await before.ended).toBe(true);
  expect(await list()).toEqual(['own', 'other']);
  expect(await list('?node=self')).toEqual(['own']);
  expect((await call(service, 'GET', '/api/bots/other')).status).toBe(200);
  expectError(await call(service, 'GET', '/api/bots/other?node=self'), 404, 'no bot "other"');
  expect((await call(service, 'GET', '/api/bots/own')).json).toMatchObject({ node: 'h1', term: 1 });
  expect((await call(service, 'GET', '/api/bots/own?node=self')).json).not.toHaveProperty('node');
  const stream = await open();
  cluster.line('h2', 'hello');
  await untilMessage(stream, 'hello');
  expect(bots(stream)).toEqual(['own', 'other']);
  expect(stream.position).toBe(`${EPOCH}-102`);
  expect(asked.isOver).toBe(false);
  expect(messages(asked)).not.toContain('hello');
  cluster.bot('h2', 'third');
  expect(await list()).toEqual(['own', 'other', 'third']);
  cluster.bot('h2', 'third', 'moved');
  expect(await list()).toEqual(['own', 'other']);

  for (const views of service.views) views.detachCluster();
  expect(await stream.ended).toBe(true);
  expect(await list()).toEqual(['own']);
  expect(asked.isOver).toBe(false);
  const end = asked.frames.length;
  await asked.until(() => asked.frames.length > end);
});

it('another one ends the streams of the one before, and what waits for that', async () => {
  await service.attachCluster(cluster);
  const [stream, named, asked] = [await open(), await open('?node=h2'), await open('?node=self')];
  await stream.until(() => bots(stream).length === 2);
  expect(service.openStreams).toBe(3);
  // The ring laps the mirror of this one, and its baseline does not come.
  cluster.answers = false;
  for (let n = 0; n < 5000; n++) cluster.line('h1', `line ${n}`);
  const waiting = call(service, 'GET', '/api/bots');
  const next = new ClusterStream('d2d2d2d2d2');
  next.bot('h3', 'new');
  await service.attachCluster(next);
  expect((await waiting).status).toBe(503);
  expect(await Promise.all([stream.ended, named.ended])).toEqual([true, true]);
  expect(asked.isOver).toBe(false);
  expect(service.openStreams).toBe(1);
  expect(await list()).toEqual(['new']);
  // What the client had last is of another numbering: one gap.
  const resumed = await open('', `${EPOCH}-102`);
  const gap = await resumed.waitFor(({ event }) => event === 'gap');
  expect(gap.json).toMatchObject({ from: `${EPOCH}-102`, dropped: null });
});

it('a stream that comes while another has no baseline yet takes its place', async () => {
  cluster.answers = false;
  const first = service.attachCluster(cluster);
  const next = new ClusterStream('d2d2d2d2d2');
  next.bot('h3', 'new');
  const second = service.attachCluster(next);
  await first;
  // Not shown for a moment either: it is closed.
  expect(service.views.map(({ cluster: shown }) => shown)).toEqual([undefined]);
  await second;
  expect(await list()).toEqual(['new']);
});

it('?node= lets through what came from these nodes, of bots and services, and nothing for an unknown name', async () => {
  await service.attachCluster(cluster);
  const queries = [
    '?node=h2',
    '?node=h2,h1',
    '?node=h1&node=h2',
    '?node=h3',
    '?node=h2&session=other',
  ];
  const streams = await Promise.all(queries.map((query) => open(query)));
  const [h2, both, twice, h3, bot] = streams as [
    SseStream,
    SseStream,
    SseStream,
    SseStream,
    SseStream,
  ];
  await Promise.all(streams.map((stream) => stream.until(() => stream.position !== undefined)));
  cluster.line('h1', 'of h1');
  cluster.line('h2', 'of h2');
  cluster.line('h2', 'of a bot', 'other');
  cluster.line('h1', 'of a bot that has moved', 'other');
  // The node is new: nobody knew its name before.
  cluster.line('h3', 'of h3');
  cluster.line('h2', 'end');
  cluster.line('h2', 'end of a bot', 'other');
  await Promise.all([
    untilMessage(h2, 'end'),
    untilMessage(both, 'end'),
    untilMessage(twice, 'end'),
  ]);
  await Promise.all([untilMessage(h3, 'of h3'), untilMessage(bot, 'end of a bot')]);
  const ofBoth = ['of h1', 'of h2', 'of a bot', 'of a bot that has moved', 'end'];
  expect(messages(h2).slice(0, 3)).toEqual(['of h2', 'of a bot', 'end']);
  expect(messages(both).slice(0, 5)).toEqual(ofBoth);
  expect(messages(twice).slice(0, 5)).toEqual(ofBoth);
  expect(messages(h3)).toEqual(['of h3']);
  expect(messages(bot)).toEqual(['of a bot', 'end of a bot']);
  expect([bots(h2), bots(both), bots(h3)]).toEqual([['other'], ['own', 'other'], []]);
  expect(await list('?node=h2')).toEqual(['other']);
  expect(await list('?node=h2,h1')).toEqual(['own', 'other']);
  expect(await list('?node=h4')).toEqual([]);
});

it('a call is answered when a client of this node can read what it changed', async () => {
  await service.attachCluster(cluster);
  // However slow this machine is, the second for which a call waits does not pass.
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockReturnValue(now);
  onTestFinished(() => clock.mockRestore());
  // Main answers these after the call, if that does not wait.
  const many = async (): Promise<void> => {
    for (let n = 0; n < 100; n++) await call(service, 'GET', '/api/pressure');
  };
  let answered = 0;
  const made = create(service, { id: 'new', kind: 'synthetic', desired: 'stopped' }).then(() => {
    answered += 1;
  });
  const asked = await open('?node=self');
  await asked.until(() => bots(asked).includes('new'));
  expect(await list('?node=self')).toContain('new');
  await many();
  expect(answered).toBe(0);
  cluster.bot('h1', 'new', 'stopped', Date.now() + 60_000);
  await made;
  expect(await list()).toContain('new');

  const removed = call(service, 'DELETE', '/api/bots/new').then(({ status }) => {
    answered += 1;
    return status;
  });
  await asked.until(() => asked.frames.some((frame) => snapshotOf(frame)?.status === 'deleted'));
  expect(await list('?node=self')).not.toContain('new');
  await many();
  expect(answered).toBe(1);
  cluster.bot('h1', 'new', 'deleted');
  expect(await removed).toBe(204);
  expect(await list()).not.toContain('new');

  // Not for longer than a second, and not at all while the node is cut off.
  clock.mockRestore();
  await create(service, { id: 'late', kind: 'synthetic', desired: 'stopped' });
  service.views[0]?.tellState({ state: 'cut_off', reason: 'no server' });
  await create(service, { id: 'alone', kind: 'synthetic', desired: 'stopped' });
  expect(await list('?node=self')).toEqual(['own', 'late', 'alone']);
});

it('a node that is cut off shows its own bots as they are, and the others as they were', async () => {
  await service.attachCluster(cluster);
  await create(service, { id: 'new', kind: 'synthetic', desired: 'stopped' });
  service.views[0]?.tellState({ state: 'cut_off', reason: 'no server' });
  expect((await call(service, 'POST', '/api/bots/own/stop')).status).toBe(200);
  const statuses = async (query: string): Promise<string[]> => {
    const { json } = await call(service, 'GET', `/api/bots${query}`);
    return (json as { bots: { id: string; status: string }[] }).bots.map(
      ({ id, status }) => `${id} ${status}`,
    );
  };
  expect(await statuses('')).toEqual(['own stopped', 'other in_world', 'new stopped']);
  expect(await statuses('?limit=2')).toEqual(['new stopped', 'other in_world']);
  expect(await statuses('?status=stopped')).toEqual(['own stopped', 'new stopped']);
  expect((await call(service, 'GET', '/api/bots/own')).json).toMatchObject({ status: 'stopped' });
  service.views[0]?.tellState({ state: 'on', reason: null });
  expect(await statuses('')).toEqual(['own in_world', 'other in_world']);
});

it('self cannot be asked for together with others', async () => {
  for (const path of ['/events', '/api/bots', '/api/events']) {
    for (const query of ['?node=self,h1', '?node=h1&node=self']) {
      expectError(await call(service, 'GET', `${path}${query}`), 400, /^node=self is/);
    }
  }
});

it('past events are those of all nodes, with the ids of the cluster; self is the own journal', async () => {
  await service.attachCluster(cluster);
  const { status } = await call(service, 'GET', `/api/events?after=${EPOCH}-3&node=h2&cursor=c`);
  expect(status).toBe(200);
  const h2 = JSON.stringify([null, null, null, null, ['h2'], null, null]);
  const merged = { cursor: 'c', cut: null };
  expect(cluster.pages).toMatchObject([{ afterSeq: 3, filter: h2, merged }]);
  expectError(await call(service, 'GET', '/api/events?after=ab-3'), 400, /another numbering/);
  expectError(await call(service, 'GET', `/api/events?node=self&after=${EPOCH}-3`), 400, /another/);
  expectError(await call(service, 'GET', '/api/events?node=self'), 503, 'the journal is off');
  expectError(await call(service, 'GET', '/api/stats?node=self'), 503, 'the journal is off');
  expectError(await call(service, 'GET', '/api/stats?node=h2'), 400, /^node must be self/);
  const history = '/api/bots/other/history?field=status';
  expectError(await call(service, 'GET', `${history}&node=h2`), 400, /^node must be self/);
});

it('a download of all nodes is read to its cut, names the nodes that are missing, and breaks off when one more is', async () => {
  await service.attachCluster(cluster);
  const missing = [{ node: 'h3', reason: 'nobody answers' }];
  const pages = [
    { body: '{"n":1}\n', merged: { cursor: 'next', cut: 7, missing } },
    { body: '{"n":2}\n', merged: { cursor: null, cut: 7, missing } },
  ];
  cluster.answer = () => pages.shift();
  const whole = await call(service, 'GET', '/api/events?format=ndjson');
  expect([whole.status, whole.text]).toEqual([200, '{"n":1}\n{"n":2}\n']);
  expect(whole.headers.get('drover-missing-nodes')).toBe('h3');
  expect(cluster.pages.at(-1)).toMatchObject({ merged: { cursor: 'next', cut: 7 } });
  const broken = [
    { body: '{"n":1}\n', merged: { cursor: 'next', cut: 7, missing: [] } },
    { body: '{"n":2}\n', merged: { cursor: null, cut: 7, missing } },
  ];
  cluster.answer = () => broken.shift();
  await expect(call(service, 'GET', '/api/events?format=ndjson')).rejects.toThrow();
});

it('an id that another node has given already is waited for', async () => {
  await service.attachCluster(cluster);
  const stream = await open('', `${EPOCH}-104`);
  const filtered = await open('?node=h2', `${EPOCH}-104`);
  for (const n of [103, 104, 105, 106]) cluster.line('h2', `line ${n}`);
  await untilMessage(stream, 'line 106');
  await untilMessage(filtered, 'line 106');
  expect(messages(stream)).toEqual(['line 105', 'line 106']);
  expect(messages(filtered)).toEqual(['line 105', 'line 106']);
});

it('a cluster event says on each stream that the cluster is away, and that it is back', async () => {
  await service.attachCluster(cluster);
  const [views] = service.views;
  const reason = 'no NATS server answers';
  const states = (stream: SseStream): unknown[] =>
    stream.frames.filter(({ event }) => event === 'cluster').map(({ json }) => json);
  views?.tellState({ state: 'on', reason: null });
  const queries = ['', '?node=self', '?node=h3', '?session=other'];
  const streams = await Promise.all(queries.map((query) => open(query)));
  for (const stream of streams) await stream.until(() => stream.position !== undefined);
  cluster.line('h2', 'before', 'other');
  await untilMessage(streams[0] as SseStream, 'before');
  views?.tellState({ state: 'cut_off', reason });
  for (const stream of streams) {
    const { id } = await stream.waitFor(({ event }) => event === 'cluster');
    expect(id).toBeUndefined();
  }
  const late = await open('?node=h2');
  await late.waitFor(({ event }) => event === 'cluster');
  expect(bots(late)).toEqual(['other']);
  views?.tellState({ state: 'on', reason: null });
  cluster.line('h2', 'after', 'other');
  // What is known already is not told again.
  views?.tellState({ state: 'on', reason: null });
  cluster.line('h2', 'again', 'other');
  await untilMessage(streams[0] as SseStream, 'again');
  const told = [
    { state: 'cut_off', reason },
    { state: 'on', reason: null },
  ];
  for (const stream of [...streams, late]) {
    await stream.until(() => states(stream).length === 2);
    expect(states(stream)).toEqual(told);
  }
  await untilMessage(streams[3] as SseStream, 'after');
  // A stream that begins while all is well is told nothing.
  const fresh = await open();
  cluster.line('h2', 'last');
  await untilMessage(fresh, 'last');
  expect(states(fresh)).toEqual([]);
});

it('at the end each stream gets what is on its ring, and ends properly', async () => {
  await service.attachCluster(cluster);
  const [all, self] = [await open(), await open('?node=self')];
  await all.until(() => all.position !== undefined);
  await self.until(() => self.position !== undefined);
  cluster.line('h2', 'last words');
  const [views] = service.views;
  await views?.finish(views.self.reader.head(), 60_000);
  expect(await Promise.all([all.ended, self.ended])).toEqual([true, true]);
  expect(messages(all)).toEqual(['last words']);
  expect(service.openStreams).toBe(0);
});

it('a client that was on the stream of the cluster waits for it, and gets no gap', async () => {
  const token = await service.token();
  const ask = (query: string, lastEventId = '') =>
    call(service, 'GET', `/events${query}`, { token, headers: { 'last-event-id': lastEventId } });
  const resumed = `${EPOCH}-101`;
  const refusal = 'the stream of the cluster is not there yet, and ?node=self is that of this node';
  const [views] = service.views;
  views?.tellState({ state: 'joining', reason: null });
  // Others too, as long as nothing says that the node cannot join.
  for (const answer of [
    await ask('', resumed),
    await ask(''),
    await ask(`?last_event_id=${resumed}`),
  ]) {
    expectError(answer, 503, `${refusal}: it is connecting`);
    expect(answer.headers.get('retry-after')).toBe('1');
  }
  views?.tellState({ state: 'on', reason: null });
  expectError(await ask(''), 503, `${refusal}: it is connecting`);
  views?.tellState({ state: 'joining', reason: 'no server' });
  expectError(await ask('', resumed), 503, `${refusal}: no server`);
  const own = await open();
  await own.until(() => bots(own).includes('own'));
  const asked = await open('?node=self', resumed);
  await asked.until(() => asked.position !== undefined);

  cluster.line('h2', 'meanwhile');
  await service.attachCluster(cluster);
  views?.tellState({ state: 'on', reason: null });
  const stream = await open('', resumed);
  await untilMessage(stream, 'meanwhile');
  expect(stream.frames.some(({ event }) => event === 'gap')).toBe(false);

  // The bus was lost.
  views?.tellState({ state: 'cut_off', reason: 'the bus was lost' });
  views?.detachCluster();
  expectError(await ask('', `${EPOCH}-102`), 503, `${refusal}: the bus was lost`);
});
