// issue 2 "Shutdown", docs/INTERFACE.md §3 and §4: how the process ends, and what streams see of it.

import { expect } from 'vitest';
import { call } from '../harness/api.js';
import { RawConnection, requestBytes } from '../harness/http.js';
import type { Service } from '../harness/service.js';
import { logOf, snapshotOf, snapshots, waitForLog, waitForStatus } from '../harness/shapes.js';
import { type SseStream, streamOn } from '../harness/sse.js';

/** Connections that have sent nothing, have had an answer, and have sent half of a request. */
async function idleConnections(service: Service): Promise<RawConnection[]> {
  const idle = await Promise.all(
    Array.from({ length: 10 }, () => RawConnection.open(service.port)),
  );
  for (const connection of idle.slice(0, 5)) {
    await connection.send(requestBytes('GET', '/health'));
    await connection.response();
  }
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': '100',
    Authorization: `Bearer ${await service.token()}`,
  };
  await idle[9]?.send(requestBytes('POST', '/invoke', headers, '{'));
  return idle;
}

/**
 * Stops the service while its bots talk, with streams and idle connections. Every bot stops, its last lines come before
 * `stopped`, and streams end cleanly.
 * @param bots ids of bots that run, with the status of a bot that does.
 */
export async function expectOrderlyEnd(
  service: Service,
  bots: Record<string, string>,
  [signal, ...more]: readonly [NodeJS.Signals, ...NodeJS.Signals[]],
): Promise<void> {
  const open = async (): Promise<SseStream> =>
    streamOn(service, '/events', { token: await service.token() });
  const config = { events_per_second: 200, message_bytes: 60 };
  const stream = await open();
  await call(service, 'POST', '/api/bots', { body: { id: 'noisy', kind: 'synthetic', config } });
  for (const [id, status] of Object.entries(bots)) await waitForStatus(stream, id, status);
  await waitForLog(stream, (log) => log.session_id === 'noisy');
  const idle = await idleConnections(service);
  const others = await Promise.all(Array.from({ length: 5 }, open));

  const stopped = service.stop(signal);
  for (const next of more) service.child.kill(next);
  expect(await stream.ended).toBe(true);
  expect(await stopped).toBe(0);
  expect(service.stderr()).not.toMatch(/^\s+at /m);
  expect(await Promise.all(others.map(({ ended }) => ended))).toEqual(others.map(() => true));
  for (const connection of idle) connection.close();

  for (const id of [...Object.keys(bots), 'noisy']) {
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
}
