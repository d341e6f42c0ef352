// Issue 2 "Shutdown", interface-seed §3 and §4: how the process ends, and what streams see of it. That it takes 10 s at
// most is for test/stress/shutdown.test.ts.

import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { call } from '../harness/api.js';
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
import { type SseStream, streamOn } from '../harness/sse.js';

const DEMOS = ['demo-1', 'demo-2', 'demo-3'];

let service: Service;
afterEach(() => stopClean(service));

const open = async (): Promise<SseStream> =>
  streamOn(service, '/events', { token: await service.token() });

/** Connections that have sent nothing, have had an answer, and have sent half of a request. */
async function idleConnections(token: string): Promise<RawConnection[]> {
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
  return idle;
}

it.each([['SIGTERM'], ['SIGINT', 'SIGTERM', 'SIGINT']] as NodeJS.Signals[][])(
  'Shutdown: on %s, also when more signals follow, every bot stops, its last lines come before `stopped`, and streams end cleanly, with idle connections too',
  async (signal, ...more) => {
    service = await startService({ demo: true, args: frontFlags(2) });
    const config = { events_per_second: 200, message_bytes: 60 };
    const stream = await open();
    await call(service, 'POST', '/api/bots', { body: { id: 'noisy', kind: 'synthetic', config } });
    for (const id of DEMOS) await waitForStatus(stream, id, 'in_world');
    await waitForLog(stream, (log) => log.session_id === 'noisy');
    const idle = await idleConnections(await service.token());
    const others = await Promise.all(Array.from({ length: 5 }, open));

    const stopped = service.stop(signal);
    for (const next of more) service.child.kill(next);
    expect(await stream.ended).toBe(true);
    expect(await stopped).toBe(0);
    expect(await Promise.all(others.map(({ ended }) => ended))).toEqual(others.map(() => true));
    for (const connection of idle) connection.close();

    for (const id of [...DEMOS, 'noisy']) {
      const statuses = snapshots(stream, id).map((s) => s.status);
      expect([id, statuses.at(-1)]).toEqual([id, 'stopped']);
      expect(statuses).toContain('stopping');
      const at = stream.frames.findLastIndex((frame) => snapshotOf(frame)?.id === id);
      const later = stream.frames.slice(at + 1).filter((frame) => logOf(frame)?.session_id === id);
      expect(later).toEqual([]);
    }
    // The last frame is whole, and nothing on the way was lost.
    expect(stream.raw.endsWith('\n\n')).toBe(true);
    const numbers = stream.frames.flatMap(({ id }) =>
      id ? [Number(id.slice(id.lastIndexOf('-') + 1))] : [],
    );
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
    expect(stream.faults).toEqual([]);
  },
);

it('Shutdown: without bots and clients it exits with 0 on either signal; then the port and the data directory are free', async (context) => {
  const base = makeDir();
  context.onTestFinished(() => removeDir(base));
  const dataDir = path.join(base, 'data');
  service = await startService({ dataDir });
  const { port } = service;
  expect(await service.stop('SIGTERM')).toBe(0);
  expect(service.stderr()).not.toMatch(/^\s+at /m);
  service = await startService({ dataDir, port });
  expect((await call(service, 'GET', '/health', { token: null })).text).toBe('ok');
  expect(await service.stop('SIGINT')).toBe(0);
  expect(service.stderr()).not.toMatch(/^\s+at /m);
});
