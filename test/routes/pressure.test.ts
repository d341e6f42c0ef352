// Decision "pressure": `GET /api/pressure`, what is refused while something is short, and what never is.

import { afterEach, expect, it, vi } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { act, create, remove, snapshot, watch } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import {
  expectLifecycle,
  expectNothingShort,
  expectStreamsShort,
  getPressure,
  streamRefusal,
} from '../harness/pressure.js';
import type { SseStream } from '../harness/sse.js';
import { makeToken } from '../harness/tokens.js';

/** Time between two samples of what is short, in ms. */
const SAMPLE_MS = 1000;

let service: InjectedService;
const streams: SseStream[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const stream of streams.splice(0)) stream.close();
});

const bots = [{ id: 'only', kind: 'synthetic', config: { events_per_second: 50 } }];

async function open(): Promise<SseStream> {
  const stream = await watch(service);
  streams.push(stream);
  return stream;
}

it('says what runs, what may run, and that nothing is short', async () => {
  service = await inject({ config: { bots, pressure: { max_bots: 50 } } });
  await open();
  await expectNothingShort(service, { maxStreams: 20_000, journal: 'off' });
});

it('streams: full when there is room for no more, and then again not', async () => {
  service = await inject({ config: { bots, stream: { max_streams: 2 } } });
  const [first] = [await open(), await open()];
  await expectStreamsShort(service, first);
  await open();
});

it('bots: one above the limit is refused with the reason, of many at once too', async () => {
  service = await inject({ config: { bots, pressure: { max_bots: 4 } } });
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => create(service, { id: `b${n}`, kind: 'synthetic' })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
  for (const answer of answers) {
    if (answer.status !== 201) expectError(answer, 503, 'bot limit reached');
  }
  expect(await getPressure(service)).toMatchObject({
    status: 503,
    report: { short: ['bots'], capacity: 4, bots: { present: 4, limit: 4 } },
  });
  // Existing bots and streams are not affected.
  const stream = await open();
  await expectLifecycle(service, stream, 'only');
  await remove(service, 'only');
  expect((await getPressure(service)).status).toBe(200);
  expect((await create(service, { id: 'next', kind: 'synthetic' })).status).toBe(201);
});

it('memory: new streams and bots are refused, existing ones continue', async () => {
  // The process has more than this before it serves anything.
  service = await inject({
    config: {
      bots: [...bots, { id: 'stays', kind: 'synthetic' }],
      pressure: { max_memory_mb: 1 },
    },
  });
  expect(await getPressure(service)).toMatchObject({ status: 503, report: { short: ['memory'] } });
  const message = 'the service is short of memory, try again later';
  await expect.poll(() => streamRefusal(service)).toEqual({ status: 503, error: message });
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
    expect(answer.json).toMatchObject({ results });
  }
  expect((await snapshot(service, 'only')).status).toBe('stopped');
  await expect.poll(async () => (await snapshot(service, 'stays')).status).toBe('running');
  expect((await call(service, 'GET', '/health', { token: null })).status).toBe(200);
});

it('cpu: a busy thread refuses new streams and bots, what is open continues, and it recovers', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const thread = { active: 0, idle: 0, utilization: 0 };
  service = await inject({
    config: { bots, pressure: { max_cpu: 0.1 } },
    sources: { utilizations: () => [{ ...thread }] },
  });
  const stream = await open();
  const message = 'the service is short of CPU time, try again later';
  vi.advanceTimersByTime(SAMPLE_MS);
  thread.active += SAMPLE_MS;
  vi.advanceTimersByTime(SAMPLE_MS);
  expect(await streamRefusal(service)).toEqual({ status: 503, error: message });
  expectError(await create(service, { id: 'new', kind: 'synthetic' }), 503, message);
  const { status, report } = await getPressure(service);
  expect(status).toBe(503);
  expect(report.short).toEqual(['cpu']);
  expect(report.cpu.used).toBeGreaterThan(0.1);
  await expectLifecycle(service, stream, 'only');
  for (let sample = 0; sample < 5; sample++) {
    thread.idle += SAMPLE_MS;
    vi.advanceTimersByTime(SAMPLE_MS);
  }
  expect((await streamRefusal(service)).status).toBe(200);
});

it('queue: bots that write too much keep new ones out, but no client that wants to look', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  let fill = 0;
  service = await inject({
    config: { bots, pressure: { max_queue: 0.05 } },
    sources: { queue: () => fill },
  });
  fill = 1;
  vi.advanceTimersByTime(SAMPLE_MS);
  expect((await getPressure(service)).report.short).toEqual(['queue']);
  const message = 'bots write more than the service can take, try again later';
  expectError(await create(service, { id: 'new', kind: 'synthetic' }), 503, message);
  const stream = await open();
  await expectLifecycle(service, stream, 'only');
  fill = 0;
  for (let sample = 0; sample < 10; sample++) vi.advanceTimersByTime(SAMPLE_MS);
  expect((await getPressure(service)).report.short).toEqual([]);
});
