// Decision "pressure" over sockets: the report of a whole service, and streams that are refused. test/routes has the rules.

import { expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { act, create, watch } from '../harness/bots.js';
import { startService, stopClean } from '../harness/service.js';
import { get } from '../harness/sse.js';

it('says what runs, what may run, and what is short: streams when there is room for no more, and then again not', async () => {
  const service = await startService({
    config: {
      bots: [{ id: 'only', kind: 'synthetic', config: { events_per_second: 50 } }],
      pressure: { max_bots: 50 },
      stream: { max_streams: 2 },
    },
  });
  onTestFinished(() => stopClean(service));
  const pressure = async () => {
    const { status, json } = await call(service, 'GET', '/api/pressure');
    return { status, report: json as { running: number; memory: { [name: string]: number } } };
  };
  const first = await watch(service);
  await expect.poll(async () => (await pressure()).report.running).toBe(1);
  const { status, report } = await pressure();
  expect(status).toBe(200);
  expect(report).toEqual({
    running: 1,
    capacity: 50,
    short: [],
    cpu: { used: expect.any(Number), limit: 0.98 },
    memory: { used_bytes: expect.any(Number), limit_bytes: expect.any(Number) },
    streams: { open: 1, limit: 2 },
    queue: { used: expect.any(Number), limit: 0.9 },
    bots: { present: 1, limit: 50 },
    store: { state: 'on', reason: null },
    journal: { state: 'on', reason: null },
  });
  expect(report.memory['used_bytes']).toBeGreaterThan(20 * 2 ** 20);
  expect(report.memory['limit_bytes']).toBeGreaterThan(report.memory['used_bytes'] as number);
  await act(service, 'only', 'stop');
  expect((await pressure()).report).toMatchObject({ running: 0, bots: { present: 1 } });

  const second = await watch(service);
  expect(await pressure()).toMatchObject({ status: 503, report: { short: ['streams'] } });
  const refused = await get(`${service.url}/events`, {
    authorization: `Bearer ${await service.token()}`,
  });
  expect(refused.statusCode).toBe(503);
  const text = Buffer.concat(await refused.toArray()).toString();
  expect(JSON.parse(text)).toEqual({ error: 'too many streams are open' });
  // It is the streams that are short, not the bots.
  expect((await create(service, { id: 'new', kind: 'synthetic' })).status).toBe(201);
  first.close();
  await expect.poll(async () => (await pressure()).status).toBe(200);
  const third = await watch(service);
  for (const stream of [second, third]) stream.close();
});
