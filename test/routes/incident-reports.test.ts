// What an incident report contains: on a busy service, in a crash storm, and for bots that could not be started.

import { expect, it, onTestFinished } from 'vitest';
import type { IncidentGroups } from '../../src/shared/contract/incident-groups.js';
import { call } from '../harness/api.js';
import {
  act,
  create,
  eventually,
  FIXTURE_KINDS,
  incidents,
  invoke,
  lineFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeDir, removeDir } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

/** A service that ends with the test, and a stream of it. */
async function start(config: object, dir?: string): Promise<[InjectedService, SseStream]> {
  const service = await inject({
    config: { kinds: [FIXTURE_KINDS], restart: { backoff_ms: 10 }, ...config },
    ...(dir === undefined ? {} : { dir }),
  });
  return [service, await watch(service)];
}

const incidentLine = (stream: SseStream, type: string): Promise<unknown> =>
  lineFrom(stream, 0, ({ message }) => /^incident /.test(message) && message.includes(`(${type})`));

it('an incident report contains the last lines of a quiet bot after many laps of the ring', async () => {
  const ringBytes = 262_144;
  const [service, stream] = await start({ stream: { ring_bytes: ringBytes } });
  await create(service, { id: 'quiet', kind: 'networker' });
  await statusFrom(stream, 0, 'quiet', 'online');
  await invoke(service, 'quiet', 'clock');
  await lineFrom(stream, 0, ({ message }) => message === 'third tick');
  const bytes = 2000;
  const config = { events_per_second: 4000, message_bytes: bytes };
  await create(service, { id: 'busy', kind: 'synthetic', config });
  // Lines are numbered, so this number means more than five laps of the ring.
  const enough = (5 * ringBytes) / bytes;
  await lineFrom(
    stream,
    0,
    (log) => log.session_id === 'busy' && Number.parseInt(log.message, 10) > enough,
    30_000,
  );
  // The next event must not be lapped as well, however slowly this test reads.
  await act(service, 'busy', 'stop');
  await invoke(service, 'quiet', 'fail_in', { timer: 'after' });
  await incidentLine(stream, 'crash');
  const [incident] = await incidents(service, 'quiet');
  expect(incident).toMatchObject({ type: 'crash', reason: 'thrown in after' });
  expect(incident?.last_lines).toContain('info quiet bot: third tick');
  expect(incident?.last_lines.every((line) => line.split(' ')[1] === 'quiet')).toBe(true);
  const times = incident?.last_lines_at_ms ?? [];
  expect(times).toHaveLength(incident?.last_lines.length ?? -1);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

it('a crash storm writes five reports and counts the rest', async () => {
  const [service, stream] = await start({
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
  // The group counts each, also those without a report.
  const answer = await call(service, 'GET', '/api/incidents/groups');
  const [crashes] = (answer.json as IncidentGroups).groups;
  expect(crashes).toMatchObject({ type: 'crash', count: 31, bots: ['storm'], bot_count: 1 });
  expect(crashes).toMatchObject({ cause: found[0]?.cause, latest: found[0]?.id });
  expect(crashes?.counts.reduce((sum, count) => sum + count)).toBe(31);
});

it('a bot that cannot be started has an incident report with the reason', async () => {
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const [first] = await start({}, dir);
  await create(first, { id: 'orphan', kind: 'faulty' });
  await first.close();
  // The kind of the bot is missing now.
  const [second] = await start({ kinds: [] }, dir);
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
