// Bots over their quota on a real host, beside twenty that are not: the right one is named, moved and stopped.

import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  create,
  createNeighbour,
  eventually,
  expectUndisturbed,
  incidents,
  lineFrom,
  snapshot,
  snapshotFrom,
  statusesOf,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

const NEIGHBOURS = Array.from({ length: 20 }, (_, n) => `neighbour-${n}`);
const KINDS = fileURLToPath(new URL('../fixtures/neighbours', import.meta.url));

let service: Service;
let stream: SseStream;
beforeEach(async () => {
  service = await startService({
    args: ['--bot-hosts', '1'],
    config: { kinds: [KINDS], quota: { window_ms: 2000 } },
  });
  stream = await watch(service);
  await Promise.all(NEIGHBOURS.map((id) => createNeighbour(service, stream, id, 10)));
});
afterEach(async () => {
  stream.close();
  await stopClean(service);
});

const createHostile = async (fault: string, more: object): Promise<void> => {
  const body = { id: 'hostile', kind: 'hostile', config: { fault }, ...more };
  expect((await create(service, body)).status).toBe(201);
};

/** The only incident report, as soon as it is on the disk. */
async function expectReport(reason: RegExp): Promise<void> {
  await eventually(async () => (await incidents(service)).length > 0, 'a report', 60_000);
  expect(await incidents(service)).toMatchObject([
    {
      type: 'over_quota',
      suspect: 'hostile',
      bots: ['hostile'],
      reason: expect.stringMatching(reason),
    },
  ]);
}

it('a bot that takes the processor: moved once, then stopped for good; its neighbours lose nothing', async () => {
  await createHostile('busy', { quota: { cpu: { soft: 0.05, hard: 0.1 } } });
  const ofBot = (text: RegExp) =>
    lineFrom(stream, 0, (log) => log.session_id === 'hostile' && text.test(log.message), 60_000);
  expect((await ofBot(/^used more than its quota/)).level).toBe('warn');
  await ofBot(/^it used more than its hard quota in \d+ s: cpu .* it has its own bot host$/);
  const moved = await snapshotFrom(stream, 0, 'hostile', ({ host }) => host === 1);
  expect(moved.usage).toBeNull();
  await statusFrom(stream, 0, 'hostile', 'failed', 60_000);
  const reason =
    /it used more than its hard quota in \d+ s: cpu [\d.]+ of 0.1, alone on its bot host$/;
  expect(await snapshot(service, 'hostile')).toMatchObject({
    status: 'failed',
    desired: 'running',
    restarts: 1,
    last_error: expect.stringMatching(reason),
    usage: null,
    over_quota: [],
  });
  await expectReport(reason);
  expect(statusesOf(stream, 'hostile').filter((status) => status === 'starting')).toHaveLength(2);
  for (const id of NEIGHBOURS) await expectUndisturbed(stream, id);
});

it('the memory of a bot with its own host is known and limited', async () => {
  await createHostile('fill', { dedicated: true, quota: { memory_mb: 150 } });
  await statusFrom(stream, 0, 'hostile', 'failed', 60_000);
  await expectReport(/memory_mb 2\d\d[\d.]* of 150, alone on its bot host$/);
  for (const id of NEIGHBOURS) await expectUndisturbed(stream, id);
});

it('over a soft quota a bot is named and runs on; what it uses is in its snapshot', async () => {
  await createHostile('fill', { dedicated: true, quota: { memory_mb: { soft: 100 } } });
  const over = await snapshotFrom(stream, 0, 'hostile', (bot) => bot.over_quota.length > 0);
  expect(over.over_quota).toEqual(['memory_mb']);
  expect(over.usage?.['memory_mb']).toBeGreaterThan(200);
  expect((await snapshot(service, 'hostile')).status).toBe('ready');
  expect(await incidents(service)).toEqual([]);
});
