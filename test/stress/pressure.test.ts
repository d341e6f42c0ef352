// Decision "pressure" under real load: what is refused while a front is overloaded or the queue is full, and what is
// never refused. test/routes/pressure.test.ts covers the rules.

import { afterEach, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { act, create, FIXTURE_KINDS, invoke, statusFrom, watch } from '../harness/bots.js';
import { raw, requestBytes } from '../harness/http.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { get, openStream, type SseStream } from '../harness/sse.js';

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

/** A bot passes through its states, and an open stream receives each of them. */
async function expectLifecycle(stream: SseStream): Promise<void> {
  const from = stream.frames.length;
  await act(service, 'only', 'restart');
  await statusFrom(stream, from, 'only', 'stopped');
  await statusFrom(stream, from, 'only', 'running');
}

it('cpu: a busy front refuses new streams, keeps its open streams, and recovers', async () => {
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

it('queue: bots that write too much prevent new bots, but no reads', async () => {
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
  // Filtered, because this client could not keep up with the full stream.
  const stream = await openStream(`${service.url}/events?session=only`, {
    token: await service.token(),
  });
  streams.push(stream);
  await expectLifecycle(stream);
  await invoke(service, 'only', 'nothing');
  await act(service, 'loud', 'stop');
  await expect.poll(async () => (await pressure()).report.short).toEqual([]);
});
