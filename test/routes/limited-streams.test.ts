// What a token limited to some bots sees on the stream: always compared, frame by frame, with an unlimited stream of
// the same time, also while labels change, bots come and go, and the stream is resumed.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { create, invoke, remove } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { activityOf, logOf, snapshotOf } from '../harness/shapes.js';
import { type Frame, type SseStream, streamOn } from '../harness/sse.js';
import { makeToken, streamOf } from '../harness/tokens.js';

let service: InjectedService;
/** Every frame since the start of the service. */
let everything: SseStream;

beforeAll(async () => {
  service = await inject({ fronts: 2 });
  everything = await streamOf(service, await service.token());
  for (const [id, team] of [
    ['red', 'a'],
    ['green', 'a'],
    ['blue', 'b'],
    ['plain', ''],
  ] as const) {
    const labels = team === '' ? {} : { team, colour: id };
    await create(service, { id, kind: 'synthetic', labels, config: { events_per_second: 200 } });
  }
});
afterAll(async () => {
  everything?.close();
  await service?.close();
});

async function open(token: string, query = '', headers = {}): Promise<SseStream> {
  const stream = await streamOn(service, `/events${query}`, { token, headers });
  onTestFinished(() => stream.close());
  return stream;
}

const seqOf = ({ id = '' }: Frame): number => Number(id.split('-')[1]);
const live = (stream: SseStream): Frame[] => stream.frames.filter(({ id }) => id !== undefined);
const sessionOf = (frame: Frame): string | null | undefined =>
  logOf(frame)?.session_id ?? snapshotOf(frame)?.id ?? activityOf(frame)?.session_id;

/** The position that the stream sent before its first live frame. */
function startOf(stream: SseStream): number {
  if (!stream.position) throw new Error('the stream has not sent its position');
  return Number(stream.position.split('-')[1]);
}

/** Waits until the unlimited stream has a matching frame. @returns the number of the last one. */
async function seenAt(fits: (frame: Frame) => boolean): Promise<number> {
  let found: Frame | undefined;
  await everything.until(() => {
    found = everything.frames.findLast((frame) => frame.id !== undefined && fits(frame));
    return found !== undefined;
  });
  return seqOf(found as Frame);
}

/** Waits until both streams have all frames up to now. */
async function settle(stream: SseStream, marker: string): Promise<number> {
  const before = seqOf(live(everything).at(-1) as Frame);
  await invoke(service, marker, 'mark');
  // The response can arrive before the line, and an earlier line belongs to another command.
  const fits = (frame: Frame): boolean =>
    seqOf(frame) > before &&
    logOf(frame)?.scope === 'dispatch' &&
    logOf(frame)?.session_id === marker;
  const last = await seenAt(fits);
  await stream.until(() => live(stream).some((frame) => seqOf(frame) >= last));
  return last;
}

/** Compares a stream with the unlimited one: within the range it has exactly the frames for which `passes` is true. */
function compare(
  stream: SseStream,
  after: number,
  last: number,
  passes: (frame: Frame, seq: number) => boolean,
): Frame[] {
  const within = (frame: Frame): boolean => seqOf(frame) > after && seqOf(frame) <= last;
  const expected = live(everything).filter((frame) => within(frame) && passes(frame, seqOf(frame)));
  const got = live(stream).filter(within);
  expect(got.map(({ id, data }) => `${id} ${data}`)).toEqual(
    expected.map(({ id, data }) => `${id} ${data}`),
  );
  return got;
}

it('limited to a list: the snapshots and all frames of its bots, and nothing else', async () => {
  const { token } = await makeToken(service, { bots: ['red', 'blue', 'nobody'] });
  const stream = await open(token);
  await stream.until(() => live(stream).length > 100);
  const opening = stream.frames.filter(({ id }) => id === undefined);
  expect(opening.map((frame) => snapshotOf(frame)?.id).sort()).toEqual(['blue', 'red']);
  const last = await settle(stream, 'red');
  const got = compare(stream, startOf(stream), last, (frame) =>
    ['red', 'blue'].includes(sessionOf(frame) ?? ''),
  );
  expect(new Set(got.map(sessionOf))).toEqual(new Set(['red', 'blue']));
});

it('a filter in the query narrows the limit and cannot widen it', async () => {
  const { token } = await makeToken(service, { bots: ['red', 'blue'] });
  const stream = await open(token, '?session=blue,green,plain');
  const other = await open(token, '?session=green');
  const last = await settle(stream, 'blue');
  const got = compare(stream, startOf(stream), last, (frame) => sessionOf(frame) === 'blue');
  expect(got.length).toBeGreaterThan(0);
  expect(other.frames).toEqual([]);
  const byLabels = await makeToken(service, { labels: { team: 'a' } });
  const narrowed = await open(byLabels.token, '?session=red,blue&event=session');
  await narrowed.until(() => narrowed.frames.length > 0);
  expect(new Set(narrowed.frames.map(sessionOf))).toEqual(new Set(['red']));
});

it('limited by labels: every frame from the one that adds the labels to the one that removes them', async () => {
  const { token } = await makeToken(service, { labels: { team: 'a' } });
  const stream = await open(token);
  await stream.until(() => live(stream).length > 100);
  const opening = stream.frames.filter(({ id }) => id === undefined);
  expect(opening.map((frame) => snapshotOf(frame)?.id).sort()).toEqual(['green', 'red']);

  const change = async (id: string, labels: object): Promise<number> => {
    await call(service, 'PATCH', `/api/bots/${id}`, { body: { labels } });
    const text = JSON.stringify(labels);
    return seenAt(
      (frame) => snapshotOf(frame)?.id === id && JSON.stringify(snapshotOf(frame)?.labels) === text,
    );
  };
  /** The range of frames in which the stream includes each bot. */
  const spans: { id: string; from: number; to: number }[] = [
    { id: 'red', from: 0, to: Number.POSITIVE_INFINITY },
  ];
  spans.push({ id: 'green', from: 0, to: await change('green', { team: 'b' }) });
  const blueFrom = await change('blue', { team: 'a', n: '1' });
  spans.push({ id: 'blue', from: blueFrom, to: await change('blue', { team: 'b', n: '2' }) });
  spans.push({
    id: 'green',
    from: await change('green', { team: 'a', n: '3' }),
    to: Number.POSITIVE_INFINITY,
  });
  // An unrelated label changes nothing.
  await change('red', { team: 'a', other: 'x' });
  // A new bot, from its first frame to its last.
  const before = seqOf(everything.frames.at(-1) as Frame);
  const config = { events_per_second: 200 };
  await create(service, { id: 'brief', kind: 'synthetic', labels: { team: 'a' }, config });
  await seenAt((frame) => seqOf(frame) > before && logOf(frame)?.session_id === 'brief');
  await remove(service, 'brief');
  const gone = await seenAt((frame) => snapshotOf(frame)?.status === 'deleted');
  // And another bot with the same id that the token cannot see.
  await create(service, { id: 'brief', kind: 'synthetic', labels: { team: 'b' }, config });
  onTestFinished(async () => {
    await remove(service, 'brief');
  });
  await seenAt((frame) => seqOf(frame) > gone && logOf(frame)?.session_id === 'brief');
  const first = everything.frames.find(
    (frame) => seqOf(frame) > before && snapshotOf(frame)?.id === 'brief',
  );
  spans.push({ id: 'brief', from: seqOf(first as Frame), to: gone });

  const last = await settle(stream, 'red');
  const passes = (frame: Frame, seq: number): boolean =>
    spans.some(({ id, from, to }) => sessionOf(frame) === id && from <= seq && seq <= to);
  const got = compare(stream, startOf(stream), last, passes);
  expect(new Set(got.map(sessionOf))).toEqual(new Set(['red', 'green', 'blue', 'brief']));
  expect(got.some((frame) => snapshotOf(frame)?.status === 'deleted')).toBe(true);

  // A client that resumes from the middle gets the same frames again, on any front.
  const middle = got[Math.floor(got.length / 4)] as Frame;
  for (let round = 0; round < 6; round++) {
    const resumed = await open(token, '', { 'last-event-id': middle.id });
    await resumed.until(() => live(resumed).some((frame) => seqOf(frame) >= last));
    expect(resumed.frames.some(({ id, event }) => id === undefined || event === 'gap')).toBe(false);
    compare(resumed, seqOf(middle), last, passes);
  }
});

it('sees no events without a bot', async () => {
  for (const limit of [{ bots: ['red'] }, { labels: { team: 'a' } }]) {
    const { token } = await makeToken(service, limit);
    const stream = await open(token);
    await call(service, 'POST', '/auth/pin', { token: null, body: { pin: 'wrong' } });
    await invoke(service, null, 'ping');
    await settle(stream, 'red');
    const sessions = new Set(stream.frames.map(sessionOf));
    expect([...sessions].every((id) => typeof id === 'string')).toBe(true);
    expect(live(everything).some((frame) => logOf(frame)?.scope === 'auth')).toBe(true);
  }
});

it('resumed on a replaced front without a journal: a gap up to where the labels are known, and no frame from before', async () => {
  const own = await inject({ fronts: 2 });
  const admin = await own.token();
  const watched = await streamOf(own, admin);
  const config = { events_per_second: 200 };
  await create(own, { id: 'turncoat', kind: 'synthetic', labels: { team: 'b' }, config });
  const first = await watched.waitFor((frame) => logOf(frame)?.session_id === 'turncoat');
  const changed = await call(own, 'PATCH', '/api/bots/turncoat', {
    body: { labels: { team: 'a' } },
  });
  expect(changed.status).toBe(200);
  const { token } = await makeToken(own, { labels: { team: 'a' } });
  watched.close();
  own.replaceFronts();
  const resume = async (as: string): Promise<SseStream> => {
    const headers = { 'last-event-id': first.id as string };
    const stream = await streamOn(own, '/events', { token: as, headers });
    onTestFinished(() => stream.close());
    return stream;
  };
  const whole = await resume(admin);
  const limited = await resume(token);
  await limited.waitFor((frame) => logOf(frame)?.session_id === 'turncoat');
  const [gap] = limited.frames;
  const range = gap?.json as { from: string; to: string; dropped: number | null };
  expect(gap?.event).toBe('gap');
  const epoch = (first.id as string).split('-')[0];
  expect(range).toMatchObject({ from: `${epoch}-${seqOf(first) + 1}`, dropped: null });
  const known = Number(range.to.split('-')[1]);
  expect(
    live(limited)
      .filter(({ event }) => event !== 'gap')
      .every((frame) => seqOf(frame) > known),
  ).toBe(true);
  // The ring has lost none of these frames.
  await whole.until(() => live(whole).some((frame) => seqOf(frame) > known));
  expect(whole.frames.some(({ event }) => event === 'gap')).toBe(false);
  expect(seqOf(whole.frames[0] as Frame)).toBe(seqOf(first) + 1);
});
