// What an incident report contains: on a busy service, in a crash storm, and for bots that could not be started.

import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  act,
  create,
  eventually,
  FIXTURE_KINDS,
  incidents,
  invoke,
  lineFrom,
  snapshotFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
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

const incidentLine = (stream: SseStream, type: string): Promise<unknown> =>
  lineFrom(stream, 0, ({ message }) => /^incident /.test(message) && message.includes(`(${type})`));

it('an incident report contains the last lines of a quiet bot after many laps of the ring', async () => {
  const ringBytes = 262_144;
  const [service, stream] = await start({ stream: { ring_bytes: ringBytes } });
  await create(service, { id: 'quiet', kind: 'faulty' });
  await statusFrom(stream, 0, 'quiet', 'online');
  await invoke(service, 'quiet', 'cause', { fault: 'remark' });
  const config = { events_per_second: 4000, message_bytes: 500 };
  await create(service, { id: 'busy', kind: 'synthetic', config });
  // Lines are numbered, so this number means more than five laps of the ring.
  const enough = (5 * ringBytes) / 500;
  await lineFrom(
    stream,
    0,
    (log) => log.session_id === 'busy' && Number.parseInt(log.message, 10) > enough,
    30_000,
  );
  // The next event must not be lapped as well, however slowly this test reads.
  await act(service, 'busy', 'stop');
  await invoke(service, 'quiet', 'cause', { fault: 'timer' });
  await incidentLine(stream, 'crash');
  const [incident] = await incidents(service, 'quiet');
  expect(incident).toMatchObject({ type: 'crash', reason: 'thrown in a timer' });
  expect(incident?.last_lines).toContain('info quiet bot: a remark');
  expect(incident?.last_lines.every((line) => line.split(' ')[1] === 'quiet')).toBe(true);
});

it('a crash storm writes five reports and counts the rest; a report lists a bounded number of bots', async () => {
  const [service, stream] = await start({
    hosts: { count: 1 },
    restart: { backoff_ms: 0, backoff_cap_ms: 1, max_restarts: 30 },
  });
  await create(service, { id: 'storm', kind: 'mortal', config: { end: 'throw' } });
  await statusFrom(stream, 0, 'storm', 'failed', 30_000);
  await lineFrom(stream, 0, ({ message }) => /has repeated itself, times: \d+$/.test(message));
  await eventually(async () => {
    const [newest] = await incidents(service, 'storm');
    return newest?.repeats === 26;
  }, 'all repeats are counted');
  const found = await incidents(service, 'storm');
  expect(found.map(({ type, repeats }) => [type, repeats])).toEqual([
    ['crash', 26],
    ...Array(4).fill(['crash', 0]),
  ]);
  expect(found[0]?.repeated_at_ms).toBeGreaterThan(found[0]?.at_ms ?? Number.POSITIVE_INFINITY);

  const from = stream.frames.length;
  for (let n = 0; n < 210; n++) await create(service, { id: `b${n}`, kind: 'faulty' });
  await statusFrom(stream, 0, 'b209', 'online');
  await invoke(service, 'b209', 'cause', { fault: 'exit' });
  await lineFrom(stream, from, ({ message }) => message.includes('(host_lost)'));
  const [lost] = await incidents(service, 'b209');
  expect(lost).toMatchObject({ type: 'host_lost', suspect: 'b209', bot_count: 210 });
  expect(lost?.bots).toHaveLength(200);
  for (const id of ['b0', 'b209']) {
    await snapshotFrom(stream, from, id, (s) => s.status === 'online' && s.restarts === 1, 30_000);
  }
});

it('a bot that cannot be started has an incident report with the reason', async () => {
  const base = makeDir();
  onTestFinished(() => removeDir(base));
  const dataDir = path.join(base, 'data');
  const first = await startService({ dataDir, config: { kinds: [FIXTURE_KINDS] } });
  await create(first, { id: 'orphan', kind: 'faulty' });
  await stopClean(first);
  // The kind of the bot is missing now.
  const [second] = await start({ kinds: [] }, { dataDir });
  await eventually(
    async () => (await incidents(second, 'orphan')).length > 0,
    'the incident report',
  );
  expect(await incidents(second, 'orphan')).toMatchObject([
    {
      type: 'failed',
      reason: expect.stringMatching(/^unknown kind "faulty"/),
      suspect: 'orphan',
      host: null,
      heap: null,
      stack: null,
      bots: ['orphan'],
      last_commands: [],
      repeats: 0,
    },
  ]);
  // A manual start fails again, for the same reason.
  await act(second, 'orphan', 'start');
  await eventually(async () => (await incidents(second, 'orphan')).length === 2, 'the second');
});
