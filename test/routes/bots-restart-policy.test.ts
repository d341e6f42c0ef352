// When a bot whose run has ended is restarted, and when it is not.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import {
  act,
  create,
  eventually,
  expectSingle,
  FIXTURE_KINDS,
  incidents,
  invoke,
  lineFrom,
  remove,
  snapshot,
  statusesOf,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { logs, snapshots } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';

let service: InjectedService;
let stream: SseStream;
let serial = 0;
let id: string;

beforeAll(async () => {
  service = await inject({
    config: {
      kinds: [FIXTURE_KINDS],
      restart: { max_restarts: 3, window_ms: 60_000, backoff_ms: 20, backoff_cap_ms: 40 },
    },
  });
  stream = await watch(service);
});
afterAll(async () => {
  stream?.close();
  await service.close();
});
beforeEach(() => {
  id = `bot-${++serial}`;
});

const mortal = (end: string, restart: object, afterMs = 0): Promise<unknown> =>
  create(service, { id, kind: 'mortal', config: { end, after_ms: afterMs }, restart });
const lives = (): number => statusesOf(stream, id).filter((status) => status === 'alive').length;

describe('policy', () => {
  it.each([
    ['always', 'return', 'failed', 4],
    ['always', 'throw', 'failed', 4],
    ['on-failure', 'return', 'stopped', 1],
    ['on-failure', 'throw', 'failed', 4],
    ['never', 'return', 'stopped', 1],
    ['never', 'throw', 'failed', 1],
    ['always', 'hopeless', 'failed', 1],
    ['on-failure', 'hopeless', 'failed', 1],
  ])('%s: a bot whose run ends with %s is %s after %d runs', async (policy, end, status, count) => {
    await mortal(end, { policy });
    const last = await statusFrom(stream, 0, id, status);
    expect(lives()).toBe(count);
    expect(last).toMatchObject({
      // The desired state does not change, so that the difference is visible.
      desired: 'running',
      restarts: count - 1,
      host: null,
      started_at_ms: null,
    });
    const limit = count > 1 ? /; restarted 3 times within 60 s, which is the limit$/ : /^/;
    if (status === 'stopped') expect(last.last_error).toBeNull();
    else expect(last.last_error).toMatch(limit);
    if (end === 'throw') expect(last.last_error).toContain('I always fail');
    if (end === 'hopeless') expect(last.last_error).toBe('the password is wrong');
    const waits = statusesOf(stream, id).filter((shown) => shown === 'backoff');
    expect(waits).toHaveLength(count - 1);
  });
});

it('a failed bot reports the reason on the stream, and its last lines are kept', async () => {
  await mortal('throw', { max_restarts: 1 });
  await statusFrom(stream, 0, id, 'failed');
  const errors = logs(stream).filter((log) => log.session_id === id && log.level === 'error');
  expect(errors.map(({ message }) => message)).toEqual(
    expect.arrayContaining([
      'I always fail',
      expect.stringMatching(/^I always fail; restarted once within 60 s, which is the limit$/),
    ]),
  );
  await eventually(async () => (await incidents(service, id)).length === 2, 'both incidents');
  const [newest] = await incidents(service, id);
  expect(newest).toMatchObject({ type: 'crash', reason: 'I always fail', suspect: id });
  expect(newest?.last_lines).toContain(`info ${id} bot: my last line`);
  expect(newest?.stack).toContain('mortal.mjs');
});

it('a bot that failed without a crash has an incident report as well: its run returned', async () => {
  await mortal('return', { policy: 'always', max_restarts: 1 });
  await statusFrom(stream, 0, id, 'failed');
  await eventually(async () => (await incidents(service, id)).length > 0, 'the incident report');
  const found = await incidents(service, id);
  expect(found).toMatchObject([
    {
      type: 'failed',
      reason: expect.stringMatching(/^its run returned; restarted once /),
      suspect: id,
      bots: [id],
    },
  ]);
  expect(found[0]?.last_lines).toContain(`info ${id} bot: my last line`);
});

it('a failed bot can be started again, with a new restart count', async () => {
  await mortal('throw', { max_restarts: 1 });
  await statusFrom(stream, 0, id, 'failed');
  const from = stream.frames.length;
  expect((await act(service, id, 'start')).status).toBe(200);
  await statusFrom(stream, from, id, 'failed');
  expect(lives()).toBe(4);
});

it('before each wait a line says when the next try is, and which one', async () => {
  await mortal('throw', { max_restarts: 2, backoff_ms: 1, backoff_cap_ms: 1 });
  await statusFrom(stream, 0, id, 'failed');
  const tries = logs(stream)
    .filter((log) => log.session_id === id && log.message.startsWith('starts again'))
    .map(({ level, message }) => `${level} ${message}`);
  expect(tries).toEqual([
    'info starts again in 1 ms (attempt 1 of 2)',
    'info starts again in 1 ms (attempt 2 of 2)',
  ]);
});

it('in backoff the snapshot says when the next try is, and which one; a start by hand does not wait', async () => {
  const before = Date.now();
  await mortal('throw', { max_restarts: 3, backoff_ms: 60_000, backoff_cap_ms: 60_000 });
  const { next_try: next } = await statusFrom(stream, 0, id, 'backoff');
  expect(next).toEqual({ at_ms: expect.any(Number), attempt: 1, limit: 3 });
  // A half to the whole of the wait.
  expect(next?.at_ms).toBeGreaterThanOrEqual(before + 30_000);
  expect(next?.at_ms).toBeLessThanOrEqual(Date.now() + 60_000);
  expect(snapshots(stream, id)[0]?.next_try).toBeNull();
  const from = stream.frames.length;
  expect((await act(service, id, 'start')).status).toBe(200);
  expect((await statusFrom(stream, from, id, 'starting')).next_try).toBeNull();
  // The count begins again.
  expect((await statusFrom(stream, from, id, 'backoff')).next_try?.attempt).toBe(1);
  expect((await act(service, id, 'stop')).status).toBe(200);
  expect((await statusFrom(stream, from, id, 'stopped')).next_try).toBeNull();
});

it('without a limit a bot is started for ever, until a change gives it one', async () => {
  const restart = { max_restarts: null, backoff_ms: 1, backoff_cap_ms: 1 };
  await mortal('throw', restart);
  // More often than any limit of this service's configuration allows.
  await lineFrom(
    stream,
    0,
    (log) => log.session_id === id && log.message === 'starts again in 1 ms (attempt 20)',
  );
  expect((await call(service, 'GET', `/api/bots/${id}/config`)).json).toMatchObject({ restart });
  const body = { restart: { max_restarts: 1 } };
  expect((await call(service, 'PATCH', `/api/bots/${id}`, { body })).status).toBe(200);
  await statusFrom(stream, 0, id, 'failed');
});

it('a healthy run resets the backoff, but its restart counts in the window', async () => {
  // Without the reset the 12 backoffs would double up to a minute, and the bot would not fail while the test waits.
  const rules = { healthy_ms: 1, max_restarts: 12, backoff_ms: 30, backoff_cap_ms: 60_000 };
  await mortal('throw', rules, 5);
  await statusFrom(stream, 0, id, 'failed');
  const shown = snapshots(stream, id);
  const waits = shown.flatMap((now, n) => {
    const next = shown[n + 1];
    return now.status === 'backoff' && next ? [next.since_ms - now.since_ms] : [];
  });
  expect(waits).toHaveLength(12);
  for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(14);
});

it('a stop is final: a crash during the stop does not restart the bot', async () => {
  const lock = randomUUID();
  await create(service, {
    id,
    kind: 'guarded',
    config: { lock, stop_ms: 20 },
    restart: { policy: 'always', backoff_ms: 0 },
  });
  for (let round = 0; round < 5; round++) {
    let from = stream.frames.length;
    await act(service, id, 'start');
    await statusFrom(stream, from, id, 'online');
    from = stream.frames.length;
    // The crash and the stop race.
    await Promise.all([
      invoke(service, id, 'break', { message: 'while it stops' }),
      act(service, id, 'stop'),
    ]);
    await statusFrom(stream, from, id, 'stopped');
    from = stream.frames.length;
    // Time for a restart: another bot runs and ends.
    await create(service, { id: `${id}-${round}`, kind: 'mortal', config: { end: 'return' } });
    await statusFrom(stream, from, `${id}-${round}`, 'stopped');
    expect(await snapshot(service, id)).toMatchObject({ status: 'stopped', desired: 'stopped' });
    expect(statusesOf(stream, id, from)).toEqual([]);
  }
  expectSingle(stream);
  await remove(service, id);
});

it('a bot that crashed while it stopped starts again when its last run is over, not before', async () => {
  const config = { lock: randomUUID(), stop_ms: 300 };
  await create(service, { id, kind: 'guarded', config, restart: { policy: 'always' } });
  await statusFrom(stream, 0, id, 'online');
  let from = stream.frames.length;
  await Promise.all([
    invoke(service, id, 'break', { message: 'while it stops' }),
    act(service, id, 'stop'),
  ]);
  await statusFrom(stream, from, id, 'stopped');
  from = stream.frames.length;
  await act(service, id, 'start');
  await statusFrom(stream, from, id, 'online');
  expectSingle(stream);
  await remove(service, id);
});

it('updates of a bot in backoff do not cancel its restart', async () => {
  await mortal('throw', { max_restarts: 40, backoff_ms: 5, backoff_cap_ms: 5 }, 5);
  for (let n = 0; n < 100; n++) {
    const labels = { n: String(n) };
    const answer = await call(service, 'PATCH', `/api/bots/${id}`, { body: { labels } });
    expect(answer.status, answer.text).toBe(200);
  }
  expect(await statusFrom(stream, 0, id, 'failed')).toMatchObject({ restarts: 40 });
});

it('with no backoff, a bot that keeps crashing still gets all its restarts, one at a time', async () => {
  const lock = randomUUID();
  await create(service, {
    id,
    kind: 'guarded',
    config: { lock },
    restart: { backoff_ms: 0, max_restarts: 20 },
  });
  for (let n = 0; n <= 20; n++) {
    await lineFrom(stream, 0, (log) => log.session_id === id && log.message.includes('-> online'));
    await eventually(
      async () => (await invoke(service, id, 'break', { message: `fall ${n}` })).status === 200,
      'it runs',
    );
    const fallen = (log: { message: string }): boolean => log.message === `fall ${n}`;
    await lineFrom(
      stream,
      0,
      (log) => log.session_id === id && log.level === 'error' && fallen(log),
    );
  }
  expect(await statusFrom(stream, 0, id, 'failed')).toMatchObject({ restarts: 20 });
  expectSingle(stream);
});
