// Faulty commands, statuses and data of a bot: the caller gets an error, the stream stays valid, and a good bot on the same
// host loses no event.

import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { expectError } from '../harness/api.js';
import {
  act,
  create,
  createNeighbour,
  eventually,
  expectComplete,
  expectUndisturbed,
  FIXTURE_KINDS,
  invoke,
  lineFrom,
  snapshot,
  snapshotFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { PATIENCE_MS } from '../harness/patience.js';
import { expectSnapshot, snapshotOf, snapshots } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';

/** Of the service whose commands run into it. */
const SHORT_MS = 200;
/** A good bot, which runs during all tests. */
const NEIGHBOUR = 'neighbour';

let service: InjectedService;
let stream: SseStream;
let serial = 0;
let id: string;

beforeAll(async () => {
  service = await inject({
    // A busy machine may take long to produce a result of 32 MiB and to reject it as too large.
    config: { kinds: [FIXTURE_KINDS], invoke: { timeout_ms: PATIENCE_MS } },
  });
  stream = await watch(service);
  await createNeighbour(service, stream, NEIGHBOUR, 20);
});
afterAll(async () => {
  stream?.close();
  await service.close();
});

beforeEach(async () => {
  id = `faulty-${++serial}`;
  expect((await create(service, { id, kind: 'faulty' })).status).toBe(201);
  await statusFrom(stream, 0, id, 'online');
});

describe('commands', () => {
  it.each([
    ['throws', 'no such luck on two lines'],
    ['rejects', 'rejected'],
    ['odd', /./],
    ['cycle', /circular|cycl/i],
    ['bigint', /BigInt/],
    ['huge', /large/],
    ['deep', /nested too deep/],
  ])(
    'a failing command (%s) returns 500 with the reason and is logged on the stream',
    async (which, message) => {
      const from = stream.frames.length;
      expectError(await invoke(service, id, 'give', { which }), 500, message);
      const line = await lineFrom(
        stream,
        from,
        (log) => log.scope === 'dispatch' && log.session_id === id,
      );
      expect([line.level, line.message]).toEqual([
        'error',
        expect.stringMatching(/^give failed: /),
      ]);
      expect(await snapshot(service, id)).toMatchObject({ status: 'online', restarts: 0 });
    },
  );

  it.each(['undefined', 'function', 'number'])(
    'a result that JSON cannot represent (%s) is null',
    async (which) => {
      expect((await invoke(service, id, 'give', { which })).json).toEqual({ result: null });
    },
  );

  it('a command that never ends returns 504, and its signal is aborted', async () => {
    const config = { kinds: [FIXTURE_KINDS], invoke: { timeout_ms: SHORT_MS } };
    const hasty = await inject({ config });
    onTestFinished(() => hasty.close());
    const own = await watch(hasty);
    onTestFinished(() => own.close());
    await create(hasty, { id, kind: 'faulty' });
    await statusFrom(own, 0, id, 'online');
    const from = own.frames.length;
    expectError(
      await invoke(hasty, id, 'never'),
      504,
      new RegExp(`did not answer within ${SHORT_MS} ms`),
    );
    await lineFrom(own, from, (log) => log.scope === 'dispatch' && log.level === 'error');
    await eventually(
      async () => (await invoke(hasty, id, 'heard')).text === '{"result":"aborted"}',
      'the bot hears of it',
    );
  });

  it('a command still running when its bot stops returns 409', async () => {
    const [never] = await Promise.all([
      invoke(service, id, 'never'),
      eventually(
        async () => (await invoke(service, id, 'heard')).text.includes('waiting'),
        'the command runs',
      ).then(() => act(service, id, 'stop')),
    ]);
    expectError(never, 409, /has stopped/);
  });

  it('a command that never ends does not delay the others', async () => {
    const never = invoke(service, id, 'never');
    const others = Array.from({ length: 10 }, () =>
      invoke(service, id, 'give', { which: 'undefined' }),
    );
    for (const { status } of await Promise.all(others)) expect(status).toBe(200);
    await act(service, id, 'stop');
    expectError(await never, 409, /has stopped/);
  });
});

describe('status and data from a bot', () => {
  it.each([
    'undefined',
    'null',
    'number',
    'object',
    'symbol',
    'empty',
    'long',
    'text',
    'deleted',
    'failed',
    'stopped',
  ])(
    'status %s: snapshots stay valid, and never show a status reserved for the service',
    async (which) => {
      const from = stream.frames.length;
      await invoke(service, id, 'status', { which });
      await invoke(service, id, 'status', { which: 'fine' });
      await statusFrom(stream, from, id, 'quite_fine');
      const shown = await snapshot(service, id);
      expect(shown.status).toBe('quite_fine');
      for (const frame of stream.frames.slice(from)) {
        const status = snapshotOf(frame)?.status;
        if (status === undefined) continue;
        expect(status).toBeTypeOf('string');
        expect(status).not.toBe('');
        expect(status.length).toBeLessThanOrEqual(64);
        expect(['deleted', 'failed', 'stopped']).not.toContain(status);
      }
    },
  );

  it.each([
    ['cycle', 500],
    ['large', 500],
    ['bigint', 500],
    ['none', 200],
  ])(
    'data with %s is rejected or empty; the bot keeps running and keeps its data',
    async (which, status) => {
      const from = stream.frames.length;
      await invoke(service, id, 'data', { which: 'fine' });
      await snapshotFrom(stream, from, id, ({ data }) => data['kept'] === 1);
      const again = stream.frames.length;
      expect((await invoke(service, id, 'data', { which })).status).toBe(status);
      // This line follows everything that the bot published before.
      await lineFrom(
        stream,
        again,
        ({ scope, session_id }) => scope === 'dispatch' && session_id === id,
      );
      const shown = expectSnapshot(await snapshot(service, id));
      expect([shown.status, shown.data]).toEqual(['online', { kept: 1, '"': expect.any(String) }]);
      expect(snapshots(stream, id).every(({ last_error }) => last_error === null)).toBe(true);
    },
  );
});

it('the neighbour was not disturbed, and the stream is complete', async () => {
  await expectUndisturbed(stream, NEIGHBOUR);
  expectComplete(stream);
  expect(service.warnings).toEqual([]);
});
