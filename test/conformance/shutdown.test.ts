// Issue 2 "Shutdown", interface-seed §3 and §4: how the process ends, and what streams see of it.

import net from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { FIXTURE_KINDS, invoke } from '../harness/bots.js';
import { RawConnection, requestBytes } from '../harness/http.js';
import {
  frontFlags,
  makeDir,
  removeDir,
  type Service,
  startService,
  stopClean,
} from '../harness/service.js';
import { logOf, snapshotOf, snapshots, waitForLog, waitForStatus } from '../harness/shapes.js';
import { openStream, type SseStream } from '../harness/sse.js';

const DEMOS = ['demo-1', 'demo-2', 'demo-3'];

let service: Service;
afterEach(() => stopClean(service));

/** Signals and waits. The service promises 10 s; the harness kills it after that, and the code is then null. */
async function endWith(signal: NodeJS.Signals): Promise<{ code: number | null; seconds: number }> {
  const before = performance.now();
  const code = await service.stop(signal);
  return { code, seconds: (performance.now() - before) / 1000 };
}

const open = async (): Promise<SseStream> =>
  openStream(`${service.url}/events`, { token: await service.token() });

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  describe('with bots and an open stream', () => {
    let stream: SseStream;
    beforeEach(async () => {
      service = await startService({ demo: true });
      const config = { events_per_second: 200, message_bytes: 60 };
      stream = await open();
      await call(service, 'POST', '/api/bots', {
        body: { id: 'noisy', kind: 'synthetic', config },
      });
      for (const id of DEMOS) await waitForStatus(stream, id, 'in_world');
      await waitForLog(stream, (log) => log.session_id === 'noisy');
    });

    it('Shutdown: every bot stops, its last lines come before `stopped`, and the stream ends cleanly', async () => {
      const sent = endWith(signal);
      expect(await stream.ended).toBe(true);
      const { code, seconds } = await sent;
      expect(code).toBe(0);
      expect(seconds).toBeLessThan(10);

      for (const id of [...DEMOS, 'noisy']) {
        const statuses = snapshots(stream, id).map((s) => s.status);
        expect([id, statuses.at(-1)]).toEqual([id, 'stopped']);
        expect(statuses).toContain('stopping');
        const at = stream.frames.findLastIndex((frame) => snapshotOf(frame)?.id === id);
        const later = stream.frames
          .slice(at + 1)
          .filter((frame) => logOf(frame)?.session_id === id);
        expect(later).toEqual([]);
      }
      // The last frame is whole, and nothing on the way was lost.
      expect(stream.raw.endsWith('\n\n')).toBe(true);
      const numbers = stream.frames.flatMap(({ id }) =>
        id ? [Number(id.slice(id.lastIndexOf('-') + 1))] : [],
      );
      expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
      expect(stream.faults).toEqual([]);
    });
  });

  it('Shutdown: without bots and clients the process exits with 0', async () => {
    service = await startService();
    const { code, seconds } = await endWith(signal);
    expect(code).toBe(0);
    expect(seconds).toBeLessThan(10);
    expect(service.stderr()).not.toMatch(/^\s+at /m);
  });

  it('Shutdown: idle connections and a half-sent request do not hold it up', async () => {
    service = await startService({ args: frontFlags(2) });
    const token = await service.token();
    const idle = await Promise.all(
      Array.from({ length: 10 }, () => RawConnection.open(service.port)),
    );
    for (const connection of idle.slice(0, 5)) {
      await connection.send(requestBytes('GET', '/health'));
      await connection.response();
    }
    const headers = { 'Content-Type': 'application/json', 'Content-Length': '100' };
    await idle[9]?.send(
      requestBytes('POST', '/invoke', { ...headers, Authorization: `Bearer ${token}` }, '{'),
    );
    const streams = await Promise.all(Array.from({ length: 5 }, open));
    const { code, seconds } = await endWith(signal);
    expect(code).toBe(0);
    expect(seconds).toBeLessThan(10);
    expect(await Promise.all(streams.map((stream) => stream.ended))).toEqual(
      streams.map(() => true),
    );
    for (const connection of idle) connection.close();
  });
});

it('Shutdown: a client that has stopped reading does not hold it up', async () => {
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

it('Shutdown: when bots, a host that hangs and a client use up all of their time, it is over within 10 s', async () => {
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

it('Shutdown: a second signal does no harm', async () => {
  service = await startService({ demo: true });
  const stream = await open();
  service.child.kill('SIGTERM');
  service.child.kill('SIGINT');
  const { code } = await endWith('SIGTERM');
  expect(code).toBe(0);
  expect(await stream.ended).toBe(true);
});

it('Shutdown: afterwards the port is free and the same data directory can be used', async (context) => {
  const base = makeDir();
  context.onTestFinished(() => removeDir(base));
  const dataDir = path.join(base, 'data');
  service = await startService({ dataDir });
  const { port } = service;
  await service.stop();
  service = await startService({ dataDir, port });
  expect((await call(service, 'GET', '/health', { token: null })).text).toBe('ok');
});
