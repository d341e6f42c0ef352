// What a dossier says when the service is busy, and of bots that could not be started.

import { expect, it, onTestFinished } from 'vitest';
import {
  create,
  FIXTURE_KINDS,
  incidents,
  invoke,
  lineFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

async function start(config: object, more: object = {}): Promise<[Service, SseStream]> {
  const service = await startService({
    config: { kinds: [FIXTURE_KINDS], restart: { backoff_ms: 10 }, ...config },
    ...more,
  });
  const stream = await watch(service);
  onTestFinished(async () => {
    stream.close();
    await stopClean(service);
  });
  return [service, stream];
}

const toldOf = (stream: SseStream, type: string): Promise<unknown> =>
  lineFrom(stream, 0, ({ message }) => /^incident /.test(message) && message.includes(`(${type})`));

it('the last lines of a quiet bot are in its dossier when the ring has been lapped many times', async () => {
  const ringBytes = 262_144;
  const [service, stream] = await start({ stream: { ring_bytes: ringBytes } });
  await create(service, { id: 'quiet', kind: 'faulty' });
  await statusFrom(stream, 0, 'quiet', 'online');
  await invoke(service, 'quiet', 'cause', { fault: 'remark' });
  const config = { events_per_second: 4000, message_bytes: 500 };
  await create(service, { id: 'busy', kind: 'synthetic', config });
  // Each line is numbered: so many are more than five rings.
  const enough = (5 * ringBytes) / 500;
  await lineFrom(
    stream,
    0,
    (log) => log.session_id === 'busy' && Number.parseInt(log.message, 10) > enough,
    30_000,
  );
  await invoke(service, 'quiet', 'cause', { fault: 'timer' });
  await toldOf(stream, 'crash');
  const [incident] = await incidents(service, 'quiet');
  expect(incident).toMatchObject({ type: 'crash', reason: 'thrown in a timer' });
  expect(incident?.last_lines).toContain('info quiet bot: a remark');
  expect(incident?.last_lines.every((line) => line.split(' ')[1] === 'quiet')).toBe(true);
});
