// Faulty bots on the same host as a good one: the good one loses no event, and the stream reports what happened.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectError } from '../harness/api.js';
import {
  act,
  create,
  createNeighbour,
  eventually,
  expectUndisturbed,
  FIXTURE_KINDS,
  incidents,
  invoke,
  lineFrom,
  list,
  remove,
  snapshot,
  snapshotFrom,
  statusesOf,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { expectSnapshot, logOf, logs, snapshotOf, snapshots } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';

/** Long enough to produce a 32 MiB result and reject it as too large, even on a busy machine. */
const COMMAND_MS = 2500;
const GRACE_MS = 200;

let service: Service;
let stream: SseStream;
let serial = 0;
let id: string;
/** A good bot, created for each test. */
let neighbour: string;

beforeAll(async () => {
  service = await startService({
    config: {
      kinds: [FIXTURE_KINDS],
      // All tests share one stream, and it must stay complete however slowly this process reads it.
      stream: { ring_bytes: 256 * 2 ** 20 },
      hosts: { count: 1, stop_grace_ms: GRACE_MS },
      invoke: { timeout_ms: COMMAND_MS },
      restart: { backoff_ms: 10 },
    },
  });
  stream = await watch(service);
});
afterAll(async () => {
  stream?.close();
  await stopClean(service);
});

beforeEach(async () => {
  neighbour = `neighbour-${++serial}`;
  await createNeighbour(service, stream, neighbour);
});
afterEach(() => remove(service, neighbour));

async function createFaulty(more: object = {}): Promise<void> {
  id = `faulty-${++serial}`;
  expect((await create(service, { id, kind: 'faulty', ...more })).status).toBe(201);
  await statusFrom(stream, 0, id, 'online');
}

describe('uncaught errors', () => {
  it.each([
    ['timer', 'thrown in a timer'],
    ['rejection', 'rejected and not caught'],
    ['socket', 'thrown in a socket event'],
    ['emitter', 'nobody listens'],
    ['no_prototype', /./],
    ['message_is_no_string', /42/],
    ['hostile_error', /./],
    ['undefined', 'undefined'],
    ['huge_error', /^y{1024}/],
  ])('%s: the bot is restarted, the neighbour keeps running', async (fault, message) => {
    await createFaulty();
    const from = stream.frames.length;
    expect((await invoke(service, id, 'cause', { fault })).status).toBe(200);
    const fallen = await statusFrom(stream, from, id, 'backoff');
    expect(fallen.last_error).toMatch(message);
    await lineFrom(stream, from, (log) => log.session_id === id && log.level === 'error');
    const risen = await statusFrom(stream, from, id, 'online');
    expect(risen.restarts).toBe(1);
    const told = await lineFrom(
      stream,
      from,
      (log) =>
        log.scope === 'drover' && log.session_id === id && log.message.startsWith('incident '),
    );
    const [incident] = await incidents(service, id);
    expect(told.message).toContain(incident?.id);
    expect(incident).toMatchObject({ type: 'crash', suspect: id, host: 0, bots: [id] });
    expect(incident?.reason).toMatch(message);
    expect(incident?.last_commands.at(-1)).toBe(`cause on ${id}`);
    if (['timer', 'rejection', 'socket'].includes(fault)) {
      expect(incident?.stack).toContain('faulty.mjs');
    }
    await expectUndisturbed(stream, neighbour);
    await remove(service, id);
  });

  it('an error from a stopped bot’s leftover timer does not fail its successor', async () => {
    await createFaulty();
    await invoke(service, id, 'leave', { throws: true });
    await act(service, id, 'stop');
    await act(service, id, 'start');
    const from = stream.frames.length;
    await expectUndisturbed(stream, neighbour);
    expect(await snapshot(service, id)).toMatchObject({ status: 'online', last_error: null });
    expect(statusesOf(stream, id, from)).not.toContain('backoff');
    await remove(service, id);
  });
});

describe('an ended bot', () => {
  it('publishes nothing more and does not reappear in the list', async () => {
    await createFaulty();
    await invoke(service, id, 'leave');
    await lineFrom(stream, 0, (log) => log.session_id === id && log.message.includes('grave'));
    await remove(service, id);
    await statusFrom(stream, 0, id, 'deleted');
    const from = stream.frames.length;
    // Its leftover timer keeps running during this.
    await expectUndisturbed(stream, neighbour);
    const after = stream.frames.slice(from).filter((frame) => frame.data.includes(`"${id}"`));
    expect(after).toEqual([]);
    expect((await list(service)).map((bot) => bot.id)).not.toContain(id);
  });

  it('that ignores its abort signal is abandoned with a warning, deleted, and publishes nothing more', async () => {
    await createFaulty({ config: { deaf: true } });
    await invoke(service, id, 'leave');
    const removed = await remove(service, id);
    expect(removed.status).toBe(204);
    await lineFrom(
      stream,
      0,
      (log) => log.session_id === id && log.level === 'warn' && /abandoned/.test(log.message),
    );
    await statusFrom(stream, 0, id, 'deleted');
    const from = stream.frames.length;
    await expectUndisturbed(stream, neighbour);
    const after = stream.frames.slice(from).filter((frame) => frame.data.includes(`"${id}"`));
    expect(after).toEqual([]);
    // Its id is free, and a new bot with that id is not confused with the old one.
    expect((await create(service, { id, kind: 'faulty' })).status).toBe(201);
    await statusFrom(stream, from, id, 'online');
    expect(await snapshot(service, id)).toMatchObject({ data: {}, status: 'online' });
    await remove(service, id);
  });
});

describe('a log flood', () => {
  it('of a million lines is limited and the skipped lines counted; the neighbour loses none', async () => {
    await createFaulty();
    const from = stream.frames.length;
    await invoke(service, id, 'cause', { fault: 'flood' });
    await statusFrom(stream, from, id, 'flooded');
    await expectUndisturbed(stream, neighbour);
    let shown = 0;
    let skipped = 0;
    let next = from;
    await stream.until(() => {
      for (const log of stream.frames.slice(next).flatMap((frame) => logOf(frame) ?? [])) {
        if (log.session_id !== id) continue;
        if (log.message.startsWith('fff')) shown += 1;
        if (log.level !== 'warn') continue;
        skipped += Number(/^(\d+) info lines were skipped/.exec(log.message)?.[1] ?? 0);
      }
      next = stream.frames.length;
      return skipped + shown >= 1_000_000;
    });
    expect(skipped + shown).toBe(1_000_000);
    expect(shown).toBeGreaterThan(0);
    await remove(service, id);
  });
});

describe('commands', () => {
  beforeEach(() => createFaulty());

  it.each([
    ['throws', 'no such luck on two lines'],
    ['rejects', 'rejected'],
    ['odd', /./],
    ['cycle', /circular|cycl/i],
    ['bigint', /BigInt/],
    ['huge', /large/],
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
      await expectUndisturbed(stream, neighbour);
    },
  );

  it.each(['undefined', 'function', 'number'])(
    'a result that JSON cannot represent (%s) is null',
    async (which) => {
      expect((await invoke(service, id, 'give', { which })).json).toEqual({ result: null });
    },
  );

  it('a command cannot trigger garbage collection on its host, which would stall its neighbours', async () => {
    const { json } = await invoke(service, id, 'give', { which: 'gc' });
    expect(json).toEqual({ result: 'undefined' });
  });

  it('a command that never ends returns 504, and its signal is aborted', async () => {
    const from = stream.frames.length;
    expectError(
      await invoke(service, id, 'never'),
      504,
      new RegExp(`did not answer within ${COMMAND_MS} ms`),
    );
    await lineFrom(stream, from, (log) => log.scope === 'dispatch' && log.level === 'error');
    expect((await invoke(service, id, 'heard')).json).toEqual({ result: 'aborted' });
    await expectUndisturbed(stream, neighbour);
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
    const [never, ...others] = await Promise.all([
      invoke(service, id, 'never'),
      ...Array.from({ length: 10 }, () => invoke(service, id, 'give', { which: 'undefined' })),
    ]);
    expect(never.status).toBe(504);
    for (const { status } of others) expect(status).toBe(200);
  });
});

describe('status and data from a bot', () => {
  beforeEach(() => createFaulty());

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
      await expectUndisturbed(stream, neighbour);
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
      expect((await invoke(service, id, 'data', { which })).status).toBe(status);
      await expectUndisturbed(stream, neighbour);
      const shown = expectSnapshot(await snapshot(service, id));
      expect([shown.status, shown.data]).toEqual(['online', { kept: 1, '"': expect.any(String) }]);
      expect(snapshots(stream, id).every(({ last_error }) => last_error === null)).toBe(true);
    },
  );
});

it('the stream is complete: no faults, no gaps', () => {
  expect(stream.faults).toEqual([]);
  expect(stream.frames.filter(({ event }) => event === 'gap')).toEqual([]);
  expect(logs(stream).filter(({ message }) => message.startsWith('an event was refused'))).toEqual(
    [],
  );
  expect(service.stderr()).toBe('');
});
