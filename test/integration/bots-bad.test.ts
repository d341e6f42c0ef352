// Bots that fail outside their commands, on the same host as a good bot or on dedicated hosts: the good one loses no event,
// and the stream reports what happened. Faulty commands: test/routes/bad-commands.test.ts.

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectError } from '../harness/api.js';
import {
  act,
  create,
  createNeighbour,
  eventually,
  expectComplete,
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
import { logOf } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';

/** How many bots may have a dedicated host. One more than the hosts that start at once. */
const MAX_DEDICATED = 4;

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
      stream: { ring_bytes: 64 * 2 ** 20 },
      hosts: {
        count: 1,
        max_heap_mb: 64,
        stop_grace_ms: 200,
        max_dedicated: MAX_DEDICATED,
        // A flood of a million lines is above it, all other bots are far below.
        bot_lines_per_second: 1000,
      },
      restart: { backoff_ms: 10, backoff_cap_ms: 200 },
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
    const late = /^error (after the end of its run|after the signal to stop): a late throw$/;
    const told = await lineFrom(
      stream,
      0,
      (log) => log.session_id === id && late.test(log.message),
    );
    expect(told.level).toBe('error');
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
    const after = stream.frames
      .slice(from)
      .filter(({ event, data }) => event !== 'activity' && data.includes(`"${id}"`));
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
    const after = stream.frames
      .slice(from)
      .filter(({ event, data }) => event !== 'activity' && data.includes(`"${id}"`));
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

it('a command cannot trigger garbage collection on its host, which would stall its neighbours', async () => {
  await createFaulty();
  const { json } = await invoke(service, id, 'give', { which: 'gc' });
  expect(json).toEqual({ result: 'undefined' });
  await remove(service, id);
});

describe('dedicated hosts', () => {
  async function createDedicated(id: string, config: object = {}): Promise<number> {
    await create(service, { id, kind: 'faulty', dedicated: true, config });
    return (await statusFrom(stream, 0, id, 'online')).host as number;
  }

  it('each dedicated host has its own number, different from the shared hosts', async () => {
    const hosts = [await createDedicated('own-1'), await createDedicated('own-2')];
    expect(new Set([0, ...hosts]).size).toBe(3);
    for (const id of ['own-1', 'own-2']) await remove(service, id);
  });

  it.each(['hog', 'exit'])(
    'a dedicated host fails alone (%s), and its bot restarts on a new dedicated host',
    async (fault) => {
      const id = `lost-by-${fault}`;
      const host = await createDedicated(id);
      const from = stream.frames.length;
      await invoke(service, id, 'cause', { fault });
      const restarted = await snapshotFrom(
        stream,
        from,
        id,
        ({ status, restarts }) => status === 'online' && restarts === 1,
      );
      expect([0, host]).not.toContain(restarted.host);
      await eventually(
        async () => (await incidents(service, id)).length > 0,
        'the incident report',
      );
      expect((await incidents(service, id))[0]).toMatchObject({
        host,
        bots: [id],
        suspect: id,
        reason: expect.stringContaining(`bot ${id} was alone there`),
      });
      await expectUndisturbed(stream, neighbour);
      await remove(service, id);
    },
  );

  it.each(['stop', 'delete'])(
    '%s ends the dedicated host, even when the bot ignores its abort signal',
    async (how) => {
      const id = `deaf-${how}`;
      // The bot holds its lock until its thread ends: on a shared host its successor could never acquire it.
      const config = { lock: randomUUID(), stop_ms: 2 ** 30 };
      const body = {
        id,
        kind: 'guarded',
        dedicated: true,
        config,
        restart: { max_restarts: 1000, backoff_cap_ms: 50 },
      };
      await create(service, body);
      const first = await statusFrom(stream, 0, id, 'online');
      const from = stream.frames.length;
      if (how === 'stop') {
        await act(service, id, 'stop');
        await act(service, id, 'start');
      } else {
        await remove(service, id);
        await create(service, body);
      }
      const { host } = first;
      await snapshotFrom(
        stream,
        from,
        id,
        (now) => now.status === 'online' && now.host !== null && now.host !== host,
      );
      await remove(service, id);
      await expectUndisturbed(stream, neighbour);
    },
  );

  it('hosts.max_dedicated: one more bot gets 503, and a bot moved to a dedicated host waits for a free one', async () => {
    const own = (bot: string): object => ({ id: bot, kind: 'faulty', dedicated: true });
    const ids = Array.from({ length: MAX_DEDICATED }, (_, n) => `full-${n}`);
    // Requested all at once; the hosts start a few at a time.
    const answers = await Promise.all(ids.map((bot) => create(service, own(bot))));
    expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 201));
    for (const bot of ids) await statusFrom(stream, 0, bot, 'online');
    const full =
      /^limit of dedicated hosts and hosts of groups reached \(hosts\.max_dedicated is 4\)$/;
    const refused = await create(service, own('surplus'));
    expectError(refused, 503, full);
    // A stopped bot needs no host until it is started.
    expect((await create(service, { ...own('surplus'), desired: 'stopped' })).status).toBe(201);
    expect((await act(service, 'surplus', 'start')).status).toBe(503);
    // A running bot can be restarted: it already counts.
    expect((await act(service, 'full-0', 'restart')).status).toBe(200);
    // A bot that ends its host gets a dedicated host from then on.
    await create(service, { id: 'rough', kind: 'faulty' });
    await statusFrom(stream, 0, 'rough', 'online');
    await invoke(service, 'rough', 'cause', { fault: 'exit' });
    await snapshotFrom(stream, 0, 'rough', ({ last_error }) => full.test(last_error ?? ''));
    const from = stream.frames.length;
    await remove(service, 'full-1');
    await statusFrom(stream, from, 'rough', 'online');
    expect((await act(service, 'surplus', 'start')).status).toBe(503);
  });
});

it('the stream is complete: no faults, no gaps', () => {
  expectComplete(stream);
  expect(service.stderr()).toBe('');
});
