// Decision "pressure": `GET /api/pressure`, what is refused while something is short, and what never is.

import { afterEach, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import {
  act,
  create,
  FIXTURE_KINDS,
  invoke,
  remove,
  snapshot,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { raw, requestBytes } from '../harness/http.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { get, openStream, type SseStream } from '../harness/sse.js';
import { makeToken } from '../harness/tokens.js';

let service: Service;
const streams: SseStream[] = [];
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await stopClean(service);
});

const bots = [{ id: 'only', kind: 'synthetic', config: { events_per_second: 50 } }];

async function open(): Promise<SseStream> {
  const stream = await watch(service);
  streams.push(stream);
  return stream;
}

interface Report {
  running: number;
  capacity: number;
  short: string[];
  cpu: { used: number; limit: number };
  memory: { used_bytes: number; limit_bytes: number };
  streams: { open: number; limit: number };
  queue: { used: number; limit: number };
  bots: { present: number; limit: number };
}

async function pressure(): Promise<{ status: number; report: Report }> {
  const { status, json } = await call(service, 'GET', '/api/pressure');
  return { status, report: json as Report };
}

/** Status and message of an attempt to open a stream. */
async function refusal(): Promise<{ status: number; error: string | undefined }> {
  const response = await get(`${service.url}/events`, {
    authorization: `Bearer ${await service.token()}`,
  });
  const status = response.statusCode ?? 0;
  if (status === 200) {
    response.destroy();
    return { status, error: undefined };
  }
  const body = JSON.parse(Buffer.concat(await response.toArray()).toString()) as { error: string };
  return { status, error: body.error };
}

/** A bot goes through its states, and a stream that was open sees each of them. */
async function expectLifecycle(stream: SseStream): Promise<void> {
  const from = stream.frames.length;
  await act(service, 'only', 'restart');
  await statusFrom(stream, from, 'only', 'stopped');
  await statusFrom(stream, from, 'only', 'running');
}

it('says what runs, what may run, and that nothing is short', async () => {
  service = await startService({ config: { bots, pressure: { max_bots: 50 } } });
  await open();
  await expect.poll(async () => (await pressure()).report.running).toBe(1);
  const { status, report } = await pressure();
  expect(status).toBe(200);
  expect(report).toEqual({
    running: 1,
    capacity: 50,
    short: [],
    cpu: { used: expect.any(Number), limit: 0.98 },
    memory: { used_bytes: expect.any(Number), limit_bytes: expect.any(Number) },
    streams: { open: 1, limit: 20_000 },
    queue: { used: expect.any(Number), limit: 0.9 },
    bots: { present: 1, limit: 50 },
    journal: { state: 'on', reason: null },
  });
  expect(report.memory.used_bytes).toBeGreaterThan(20 * 2 ** 20);
  expect(report.memory.limit_bytes).toBeGreaterThan(report.memory.used_bytes);
  await act(service, 'only', 'stop');
  expect((await pressure()).report).toMatchObject({ running: 0, bots: { present: 1 } });
});

it('streams: full when there is room for no more, and then again not', async () => {
  service = await startService({ config: { bots, stream: { max_streams: 2 } } });
  const [first] = [await open(), await open()];
  expect(await pressure()).toMatchObject({ status: 503, report: { short: ['streams'] } });
  expect(await refusal()).toEqual({ status: 503, error: 'too many streams are open' });
  // It is the streams that are short, not the bots.
  expect((await create(service, { id: 'new', kind: 'synthetic' })).status).toBe(201);
  first.close();
  await expect.poll(async () => (await pressure()).status).toBe(200);
  await open();
});

it('bots: one more than there may be is refused with the reason, of many at once too', async () => {
  service = await startService({ config: { bots, pressure: { max_bots: 4 } } });
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => create(service, { id: `b${n}`, kind: 'synthetic' })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
  for (const answer of answers) {
    if (answer.status !== 201) expectError(answer, 503, 'there are as many bots as there may be');
  }
  expect(await pressure()).toMatchObject({
    status: 503,
    report: { short: ['bots'], capacity: 4, bots: { present: 4, limit: 4 } },
  });
  // Those that are there go on as before, streams too.
  const stream = await open();
  await expectLifecycle(stream);
  await remove(service, 'only');
  expect((await pressure()).status).toBe(200);
  expect((await create(service, { id: 'next', kind: 'synthetic' })).status).toBe(201);
});

it('memory: new streams and bots are refused, what is there goes on', async () => {
  // The process has more than this before it serves anything.
  service = await startService({
    config: {
      bots: [...bots, { id: 'stays', kind: 'synthetic' }],
      pressure: { max_memory_mb: 1 },
    },
  });
  expect(await pressure()).toMatchObject({ status: 503, report: { short: ['memory'] } });
  const message = 'the service is short of memory, try again later';
  await expect.poll(refusal).toEqual({ status: 503, error: message });
  expectError(await create(service, { id: 'new', kind: 'synthetic' }), 503, message);
  await act(service, 'only', 'stop');
  expectError(await act(service, 'only', 'start'), 503, message);
  const many = { action: 'start', ids: ['only'] };
  expectError(await call(service, 'POST', '/api/bots/actions', { body: many }), 503, message);
  // A restart is a start where the bot does not run, and only there.
  expectError(await act(service, 'only', 'restart'), 503, message);
  expect((await act(service, 'stays', 'restart')).status).toBe(200);
  const restart = { action: 'restart', ids: ['only', 'stays', 'nobody'] };
  const results = {
    only: { error: message },
    stays: { status: expect.any(String) },
    nobody: { error: 'no bot "nobody"' },
  };
  const { token } = await makeToken(service, {
    scopes: ['control'],
    bots: ['only', 'stays'],
  });
  for (const options of [{}, { token }]) {
    const answer = await call(service, 'POST', '/api/bots/actions', { ...options, body: restart });
    expect(answer.json).toEqual({ results });
  }
  expect((await snapshot(service, 'only')).status).toBe('stopped');
  await expect.poll(async () => (await snapshot(service, 'stays')).status).toBe('running');
  expect((await call(service, 'GET', '/health', { token: null })).status).toBe(200);
});

it('cpu: a busy front refuses new streams, keeps those that it has, and recovers', async () => {
  service = await startService({
    config: { bots: [{ id: 'only', kind: 'synthetic' }], pressure: { max_cpu: 0.1 } },
  });
  const stream = await open();
  const bytes = requestBytes('GET', '/nowhere');
  const message = 'the service is short of CPU time, try again later';
  await expect
    .poll(
      async () => {
        for (let n = 0; n < 20; n++) {
          await Promise.all(Array.from({ length: 10 }, () => raw(service.port, bytes)));
        }
        return refusal();
      },
      { interval: 0 },
    )
    .toEqual({ status: 503, error: message });
  const { status, report } = await pressure();
  expect(status).toBe(503);
  expect(report.short).toEqual(['cpu']);
  expect(report.cpu.used).toBeGreaterThan(0.1);
  await expectLifecycle(stream);
  await expect.poll(async () => (await refusal()).status).toBe(200);
});

it('queue: bots that write too much keep new ones out, but nobody who wants to look', async () => {
  service = await startService({
    config: {
      kinds: [FIXTURE_KINDS],
      hosts: { count: 1, in_flight_bytes: 65_536, bot_lines_per_second: 0 },
      pressure: { max_queue: 0.05 },
      bots: [
        ...bots,
        {
          id: 'loud',
          kind: 'synthetic',
          config: { events_per_second: 1_000_000, message_bytes: 500 },
        },
      ],
    },
  });
  await expect.poll(async () => (await pressure()).report.short).toContain('queue');
  const message = 'bots write more than the service can take, try again later';
  expectError(await create(service, { id: 'new', kind: 'synthetic' }), 503, message);
  // Filtered, because this client could not keep up with all of it.
  const stream = await openStream(`${service.url}/events?session=only`, {
    token: await service.token(),
  });
  streams.push(stream);
  await expectLifecycle(stream);
  await invoke(service, 'only', 'nothing');
  await act(service, 'loud', 'stop');
  await expect.poll(async () => (await pressure()).report.short).toEqual([]);
});
