// Issue 2 "Shutdown": the process ends within 10 s, even when bots, hosts and clients use all of their time.

import net from 'node:net';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { FIXTURE_KINDS, invoke } from '../harness/bots.js';
import { requestBytes } from '../harness/http.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { waitForLog } from '../harness/shapes.js';
import { openStream, type SseStream } from '../harness/sse.js';

let service: Service;
afterEach(() => stopClean(service));

async function endWith(signal: NodeJS.Signals): Promise<{ code: number | null; seconds: number }> {
  const before = performance.now();
  const code = await service.stop(signal);
  return { code, seconds: (performance.now() - before) / 1000 };
}

const open = async (): Promise<SseStream> =>
  openStream(`${service.url}/events`, { token: await service.token() });

it('Shutdown: a client that has stopped reading does not delay it', async () => {
  const config = { events_per_second: 2000, message_bytes: 1000 };
  service = await startService({ config: { bots: [{ id: 'noisy', kind: 'synthetic', config }] } });
  const request = requestBytes('GET', '/events', {
    Authorization: `Bearer ${await service.token()}`,
  });
  const deaf = net.connect({ port: service.port, host: '127.0.0.1' });
  deaf.on('error', () => {});
  deaf.pause();
  deaf.write(request);
  const healthy = await open();
  await healthy.until(() => healthy.frames.length > 5000);
  const { code, seconds } = await endWith('SIGTERM');
  expect(code).toBe(0);
  expect(seconds).toBeLessThan(10);
  expect(await healthy.ended).toBe(true);
  deaf.destroy();
});

it('Shutdown: when bots, a hanging host and a client use all of their time, it takes at most 10 s', async () => {
  const config = { events_per_second: 2000, message_bytes: 1000 };
  service = await startService({
    args: ['--bot-hosts', '2'],
    config: {
      kinds: [FIXTURE_KINDS],
      bots: [
        { id: 'noisy', kind: 'synthetic', config },
        { id: 'hangs', kind: 'faulty' },
        { id: 'deaf', kind: 'faulty', config: { deaf: true } },
      ],
    },
  });
  const deaf = net.connect({ port: service.port, host: '127.0.0.1' });
  onTestFinished(() => void deaf.destroy());
  deaf.on('error', () => {});
  deaf.pause();
  deaf.write(requestBytes('GET', '/events', { Authorization: `Bearer ${await service.token()}` }));
  const healthy = await open();
  await healthy.until(() => healthy.frames.length > 5000);
  await invoke(service, 'hangs', 'cause', { fault: 'loop' });
  await waitForLog(healthy, (log) => log.message === 'about to loop');
  const { code, seconds } = await endWith('SIGTERM');
  expect(code).toBe(0);
  expect(seconds).toBeLessThan(10);
  expect(await healthy.ended).toBe(true);
});
