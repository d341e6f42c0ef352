// What a filter passes: always compared, frame by frame, with an unfiltered stream of the same time.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startDemoWorld } from '../../src/kinds/demo-world/server.js';
import { call, expectError } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { activityOf, type Log, type Snapshot } from '../harness/shapes.js';
import { type Frame, type SseStream, streamOn } from '../harness/sse.js';

const DEMO = fileURLToPath(new URL('../../workers/kinds/demo.ts', import.meta.url));

let world: Awaited<ReturnType<typeof startDemoWorld>>;
let service: InjectedService;
let token: string;
/** Every frame since the start of the service. */
let everything: SseStream;
beforeAll(async () => {
  world = await startDemoWorld();
  service = await inject({
    config: {
      kinds: [DEMO],
      bots: [
        ...['red', 'green', 'blue'].map((id) => ({
          id,
          kind: 'synthetic',
          labels: { colour: id, size: 's' },
          config: { events_per_second: 60, message_bytes: 30 },
        })),
        ...['demo-1', 'demo-2', 'demo-3'].map((id) => ({
          id,
          kind: 'demo',
          config: { world_url: world.httpUrl },
        })),
      ],
    },
  });
  token = await service.token();
  everything = await streamOn(service, '/events', { token });
  await everything.until(() => everything.frames.some(({ data }) => data.includes('"in_world"')));
});
afterAll(async () => {
  everything?.close();
  await service?.close();
  await world?.close();
});

async function open(query: string, headers: Record<string, string> = {}): Promise<SseStream> {
  const stream = await streamOn(service, `/events${query}`, { token, headers });
  onTestFinished(() => stream.close());
  return stream;
}

const seqOf = ({ id = '' }: Frame): number => Number(id.split('-')[1]);
const live = (stream: SseStream): Frame[] => stream.frames.filter(({ id }) => id !== undefined);
const opening = (stream: SseStream): Snapshot[] =>
  stream.frames
    .filter(({ id }) => id === undefined)
    .map(({ json }) => (json as { snapshot: Snapshot }).snapshot);

/** The position that the stream sent before its first live frame. */
function startOf(stream: SseStream): number {
  if (!stream.position) throw new Error('the stream has not sent its position');
  return Number(stream.position.split('-')[1]);
}

/** Produces events of every kind, so that each filter has something to pass and something to drop. */
async function produceEvents(): Promise<void> {
  const invoke = (session_id: string | null, command: string, args: object = {}) =>
    call(service, 'POST', '/invoke', { body: { session_id, command, args } });
  const before = everything.frames.length;
  const isOfRed = (frame: Frame): boolean => log(frame)?.level === 'info' && botOf(frame) === 'red';
  await everything.until(() => everything.frames.slice(before).some(isOfRed));
  await invoke(null, 'ping');
  await invoke('demo-1', 'say', { text: 'stir' });
  await invoke('red', 'no_such_command');
  await call(service, 'POST', '/api/bots', { body: { id: 'brief', kind: 'synthetic' } });
  await call(service, 'DELETE', '/api/bots/brief');
}

/** The number of a new event on the ring, of any kind. */
async function mark(): Promise<number> {
  const text = `mark-${Math.random()}`;
  await call(service, 'POST', '/invoke', { body: { session_id: null, command: text } });
  return seqOf(await everything.waitFor(({ data }) => data.includes(text)));
}

type Fits = (frame: Frame) => boolean;
const log = (frame: Frame): Log | undefined =>
  frame.event === 'log' ? (frame.json as Log) : undefined;
const botOf = (frame: Frame): string | null | undefined =>
  frame.event === 'session'
    ? (frame.json as { snapshot: Snapshot }).snapshot.id
    : (activityOf(frame)?.session_id ?? log(frame)?.session_id);
const one = <T>(...values: T[]): ((value: T) => boolean) => {
  const set = new Set(values);
  return (value) => set.has(value);
};

const CASES: [query: string, fits: Fits][] = [
  ['event=log', (frame) => frame.event === 'log'],
  ['event=session', (frame) => frame.event === 'session'],
  ['event=log,session', (frame) => frame.event !== 'activity'],
  ['event=log&event=session', (frame) => frame.event !== 'activity'],
  ['event=activity', (frame) => frame.event === 'activity'],
  ['actor=pin&activity=command', (frame) => activityOf(frame)?.activity === 'command'],
  ['session=red', (frame) => botOf(frame) === 'red'],
  ['session=red,blue', (frame) => one('red', 'blue')(botOf(frame) ?? '')],
  ['session=red&session=blue,brief', (frame) => one('red', 'blue', 'brief')(botOf(frame) ?? '')],
  ['level=state', (frame) => log(frame)?.level === 'state'],
  ['level=error,warn', (frame) => one('error', 'warn')(log(frame)?.level ?? '')],
  ['level=state&level=error', (frame) => one('state', 'error')(log(frame)?.level ?? '')],
  ['scope=dispatch', (frame) => log(frame)?.scope === 'dispatch'],
  ['scope=dispatch,tcp', (frame) => one('dispatch', 'tcp')(log(frame)?.scope ?? '')],
  ['scope=tcp&scope=bot', (frame) => one('tcp', 'bot')(log(frame)?.scope ?? '')],
  ['event=session&session=brief', (frame) => frame.event === 'session' && botOf(frame) === 'brief'],
  ['event=log&session=demo-1', (frame) => frame.event === 'log' && botOf(frame) === 'demo-1'],
  [
    'session=demo-1,red&level=info,error&scope=dispatch',
    (frame) =>
      one('demo-1', 'red')(botOf(frame) ?? '') &&
      one('info', 'error')(log(frame)?.level ?? '') &&
      log(frame)?.scope === 'dispatch',
  ],
  ['kind=demo', (frame) => /^demo-/.test(botOf(frame) ?? '')],
  ['kind=other,demo&event=log', (frame) => /^demo-/.test(log(frame)?.session_id ?? '')],
  [
    'label=colour=red,size&level=info',
    (frame) => log(frame)?.level === 'info' && botOf(frame) === 'red',
  ],
  ['scope=%64ispatch', (frame) => log(frame)?.scope === 'dispatch'],
  ['scope=dispatch%2Ctcp', (frame) => one('dispatch', 'tcp')(log(frame)?.scope ?? '')],
  ['session=red,,&session=', (frame) => botOf(frame) === 'red'],
  ['session=nobody,red', (frame) => botOf(frame) === 'red'],
];

describe.each(CASES)('%s', (query, fits) => {
  it('passes exactly the matching frames, and resumes exactly', async () => {
    const stream = await open(`?${query}`);
    await produceEvents();
    const end = await mark();
    const expected = (from: number, to: number): Frame[] =>
      live(everything).filter((frame) => seqOf(frame) > from && seqOf(frame) <= to && fits(frame));
    const start = startOf(stream);
    const wanted = expected(start, end);
    expect(wanted.length).toBeGreaterThan(0);
    const last = seqOf(wanted.at(-1) as Frame);
    await stream.until(() => live(stream).some((frame) => seqOf(frame) >= last));
    expect(live(stream).filter((frame) => seqOf(frame) <= end)).toEqual(wanted);

    // From the middle, from before the first matching frame, and from the end.
    const half = wanted[Math.floor(wanted.length / 2)] as Frame;
    const epoch = half.id?.split('-')[0];
    for (const from of [seqOf(half), start, seqOf(wanted.at(-1) as Frame)]) {
      const resumed = await open(`?${query}`, { 'last-event-id': `${epoch}-${from}` });
      await produceEvents();
      const later = await mark();
      const rest = expected(from, later);
      expect(rest.length).toBeGreaterThan(0);
      await resumed.until(() => live(resumed).length >= rest.length);
      expect(live(resumed).slice(0, rest.length)).toEqual(rest);
      expect(opening(resumed)).toEqual([]);
      resumed.close();
    }
  });
});

describe('the initial snapshots', () => {
  const ALL = ['blue', 'demo-1', 'demo-2', 'demo-3', 'green', 'red'];
  it.each([
    ['', ALL],
    ['?event=session', ALL],
    ['?event=log,session', ALL],
    ['?session=red', ['red']],
    ['?session=red,demo-2,nobody', ['demo-2', 'red']],
    ['?event=session&session=green', ['green']],
    ['?event=log', []],
    ['?level=info', []],
    ['?level=state,info,warn,error', []],
    ['?scope=bot', []],
    ['?session=red&scope=bot', []],
    ['?event=nothing', []],
    ['?snapshot=0', []],
    ['?snapshot=0&event=session', []],
    ['?snapshot=0&session=red', []],
    ['?snapshot=1&session=red', ['red']],
  ])('match the filter: %s', async (query, ids) => {
    const stream = await open(query);
    await stream.until(() => stream.position !== undefined);
    expect(
      opening(stream)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(ids);
    expect(stream.retry).toBeGreaterThan(0);
  });
});

it.each([
  'event=nothing',
  'event=LOG',
  'level=debug',
  'level=0',
  'session=nobody',
  'session=%00',
  'session=red%20',
  'scope=constructor',
  'event=__proto__',
  'level=toString',
  'event=',
  'session=,',
  `session=${'x'.repeat(1000)}`,
])('a value that matches nothing passes nothing and is not an error: %s', async (query) => {
  const stream = await open(`?${query}`);
  const start = await mark();
  await produceEvents();
  const end = await mark();
  expect(end).toBeGreaterThan(start);
  // A stream opened later has all these events by now, so this one would have them as well.
  const witness = await open(`?last_event_id=${everything.frames.at(-1)?.id}`);
  await witness.until(() => live(witness).length > 20);
  expect(live(stream)).toEqual([]);
  expect(opening(stream)).toEqual([]);
  expect(stream.isOver).toBe(false);
});

it.each(['sesion=red', 'Event=log', 'event[]=log', '=x', 'x', 'last-event-id=1', 'snapshots=0'])(
  'an unknown parameter is 400 and the error lists the known ones: %s',
  async (query) => {
    for (const target of [`/events?${query}`, `/events?event=log&${query}&level=info`]) {
      const answer = await call(service, 'GET', target);
      const message = expectError(answer, 400, /unknown parameter/);
      expect(message).toContain(JSON.stringify(query.split('=')[0]));
      for (const name of ['event', 'level', 'session', 'scope', 'last_event_id', 'snapshot']) {
        expect(message).toContain(name);
      }
    }
  },
);

it('too many values are refused, the maximum is accepted', async () => {
  const names = (count: number): string => Array.from({ length: count }, (_, n) => `b${n}`).join();
  expectError(await call(service, 'GET', `/events?session=${names(1001)}`), 400, /1000/);
  const stream = await open(`?session=${names(999)},red`);
  await stream.until(() => live(stream).length > 3);
  expect(new Set(live(stream).map(botOf))).toEqual(new Set(['red']));
});

it('HEAD checks the parameters too, and opens no stream', async () => {
  expect((await call(service, 'HEAD', '/events?nope=1')).status).toBe(400);
  const response = await call(service, 'HEAD', '/events?event=log');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/event-stream');
});

it('the header overrides last_event_id in the query', async () => {
  const frames = live(everything);
  const [older, newer] = [frames.at(-40) as Frame, frames.at(-20) as Frame];
  const stream = await open(`?last_event_id=${older.id}`, { 'last-event-id': newer.id ?? '' });
  await stream.until(() => live(stream).length > 10);
  expect(seqOf(live(stream)[0] as Frame)).toBe(seqOf(newer) + 1);
});

it.each([
  ['not an id', 'hello'],
  ['a number alone', '17'],
  ['a negative number', 'abc--1'],
  ['a fraction', 'abc-1.5'],
  ['a number with leading zeros', 'abc-0017'],
  ['a number too large for a double', 'abc-99999999999999999999'],
  ['very long', 'a'.repeat(3000)],
])('a malformed id is ignored: %s', async (_, id) => {
  const stream = await open('', { 'last-event-id': id });
  await stream.until(() => live(stream).length > 3);
  expect(opening(stream).length).toBe(6);
  expect(stream.frames.filter(({ event }) => event === 'gap')).toEqual([]);
});

it.each([
  ['of another epoch', () => '0123456789-5'],
  ['from the future', (id: string) => `${id.split('-')[0]}-9007199254740990`],
])('an id %s gives one gap, then the snapshots, then live events', async (_, make) => {
  const id = make(live(everything).at(-1)?.id ?? '');
  const stream = await open(`?last_event_id=${id}`);
  await stream.until(() => live(stream).length > 5);
  const [gap, ...rest] = stream.frames;
  expect(gap).toMatchObject({ event: 'gap', json: { from: id, to: gap?.id, dropped: null } });
  expect(opening(stream).length).toBe(6);
  expect(rest.filter(({ event }) => event === 'gap')).toEqual([]);
  expect(startOf(stream)).toBe(seqOf(gap as Frame));
  expect(seqOf(live(stream)[1] as Frame)).toBe(seqOf(gap as Frame) + 1);
});

it('a rejected filter is a JSON error like any other', async () => {
  const response = await service.open('/events?nope', { authorization: `Bearer ${token}` });
  expect(response.statusCode).toBe(400);
  expect(response.headers['content-type']).toMatch(/^application\/json\b/);
  response.destroy();
});
