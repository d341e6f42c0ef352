// Decision "pressure" under real load: what is refused while a front is overloaded or the queue is full, and what is
// never refused. test/routes/pressure.test.ts covers the rules.

import net from 'node:net';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { expectError } from '../harness/api.js';
import { act, create, FIXTURE_KINDS, invoke, watch } from '../harness/bots.js';
import { requestBytes } from '../harness/http.js';
import { expectLifecycle, getPressure, streamRefusal } from '../harness/pressure.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { openStream, type SseStream } from '../harness/sse.js';

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

/**
 * More requests at a time than the front answers before this process runs again, however little CPU time both get.
 * @returns what ends them.
 */
function flood({ port }: Service): () => void {
  const last = requestBytes('GET', '/nowhere', { Connection: 'close' });
  const bytes = Buffer.concat([...Array<Buffer>(1000).fill(requestBytes('GET', '/nowhere')), last]);
  let isOver = false;
  const ask = (): void => {
    if (isOver) return;
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
    socket
      .resume()
      .on('error', () => {})
      .on('close', ask);
  };
  for (let n = 0; n < 8; n++) ask();
  return () => {
    isOver = true;
  };
}

it('cpu: a busy front refuses new streams, keeps its open streams, and recovers', async () => {
  service = await startService({
    // The threads of a machine without free CPU time look busy: what they do at rest must be far below.
    config: { bots: [{ id: 'only', kind: 'synthetic' }], pressure: { max_cpu: 0.5 } },
  });
  await expect.poll(async () => (await getPressure(service)).report.short).toEqual([]);
  const stream = await open();
  const end = flood(service);
  onTestFinished(end);
  const message = 'the service is short of CPU time, try again later';
  await expect
    .poll(() => streamRefusal(service), { interval: 100 })
    .toEqual({ status: 503, error: message });
  const { status, report } = await getPressure(service);
  expect(status).toBe(503);
  expect(report.short).toEqual(['cpu']);
  expect(report.cpu.used).toBeGreaterThan(0.5);
  await expectLifecycle(service, stream, 'only');
  end();
  await expect.poll(async () => (await streamRefusal(service)).status).toBe(200);
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
  await expect.poll(async () => (await getPressure(service)).report.short).toContain('queue');
  const message = 'bots write more than the service can take, try again later';
  expectError(await create(service, { id: 'new', kind: 'synthetic' }), 503, message);
  // Filtered, because this client could not keep up with the full stream.
  const stream = await openStream(`${service.url}/events?session=only`, {
    token: await service.token(),
  });
  streams.push(stream);
  await expectLifecycle(service, stream, 'only');
  await invoke(service, 'only', 'nothing');
  expect((await act(service, 'loud', 'restart')).status).toBe(200);
  expect((await act(service, 'loud', 'stop')).status).toBe(200);
  await expect.poll(async () => (await getPressure(service)).report.short).toEqual([]);
});
