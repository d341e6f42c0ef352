import { expect } from 'vitest';
import { call, type ServiceApi } from './api.js';
import { act, create, statusFrom } from './bots.js';
import { TEST_NATS } from './service.js';
import type { SseStream } from './sse.js';

/** Response of `GET /api/pressure`, without the journal. */
export interface PressureReport {
  running: number;
  capacity: number;
  short: string[];
  cpu: { used: number; limit: number };
  memory: { used_bytes: number; limit_bytes: number };
  streams: { open: number; limit: number };
  queue: { used: number; limit: number };
  files: { used: number; limit: number; most: { kind: string; open: number } | null };
  hosts: { host: number; bots: number; delay_ms: number }[];
  bots: { present: number; limit: number };
}

export async function getPressure(
  service: ServiceApi,
): Promise<{ status: number; report: PressureReport }> {
  const { status, json } = await call(service, 'GET', '/api/pressure');
  return { status, report: json as PressureReport };
}

/** Status and message of an attempt to open a stream. */
export async function streamRefusal(
  service: ServiceApi,
): Promise<{ status: number; error: string | undefined }> {
  const response = await service.open('/events', {
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

/** Restarts the bot `id`: it passes through its states, and the open stream receives each of them. */
export async function expectLifecycle(
  service: ServiceApi,
  stream: SseStream,
  id: string,
): Promise<void> {
  const from = stream.frames.length;
  await act(service, id, 'restart');
  await statusFrom(stream, from, id, 'stopped');
  await statusFrom(stream, from, id, 'running');
}

/** The decision's report of a service with the running bot `only`, room for 50 bots, and one open stream; stops the bot. */
export async function expectNothingShort(
  service: ServiceApi,
  { maxStreams, journal }: { maxStreams: number; journal: 'on' | 'off' },
): Promise<void> {
  await expect.poll(async () => (await getPressure(service)).report.running).toBe(1);
  const { status, report } = await getPressure(service);
  expect(status).toBe(200);
  expect(report).toEqual({
    running: 1,
    capacity: 50,
    short: [],
    cpu: { used: expect.any(Number), limit: 0.98 },
    memory: { used_bytes: expect.any(Number), limit_bytes: expect.any(Number) },
    streams: { open: 1, limit: maxStreams },
    queue: { used: expect.any(Number), limit: 0.9 },
    files: expect.any(Object),
    hosts: expect.any(Array),
    bots: { present: 1, limit: 50 },
    store: { state: 'on', reason: null },
    journal: { state: journal, reason: null },
    cluster:
      TEST_NATS === undefined
        ? null
        : {
            state: 'on',
            reason: null,
            unpublished: expect.any(Number),
            behind: expect.any(Number),
          },
  });
  expect(report.memory.used_bytes).toBeGreaterThan(20 * 2 ** 20);
  expect(report.memory.limit_bytes).toBeGreaterThan(report.memory.used_bytes);
  await act(service, 'only', 'stop');
  expect((await getPressure(service)).report).toMatchObject({ running: 0, bots: { present: 1 } });
}

/** Of a service whose streams are all open, among them `first`, which is closed. */
export async function expectStreamsShort(service: ServiceApi, first: SseStream): Promise<void> {
  expect(await getPressure(service)).toMatchObject({ status: 503, report: { short: ['streams'] } });
  expect(await streamRefusal(service)).toEqual({ status: 503, error: 'too many streams are open' });
  // It is the streams that are short, not the bots.
  expect((await create(service, { id: 'new', kind: 'synthetic' })).status).toBe(201);
  first.close();
  await first.ended;
  await expect.poll(async () => (await getPressure(service)).status).toBe(200);
}
