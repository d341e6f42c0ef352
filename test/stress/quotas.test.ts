// Bots over their quotas in one service, beside twenty that are not: each is named, moved or stopped, and no other. All start at once,
// because most of the time is that of the windows in which usage is measured.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
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
beforeAll(async () => {
  service = await startService({
    args: ['--bot-hosts', '1'],
    config: { kinds: [KINDS], quota: { window_ms: 2000 } },
  });
  stream = await watch(service);
  await Promise.all(NEIGHBOURS.map((id) => createNeighbour(service, stream, id, 10)));
  await createHostile('busy', 'busy', { quota: { cpu: { soft: 0.05, hard: 0.1 } } });
  await createHostile('full', 'fill', { dedicated: true, quota: { memory_mb: 150 } });
  await createHostile('named', 'fill', { dedicated: true, quota: { memory_mb: { soft: 100 } } });
});
afterAll(async () => {
  stream?.close();
  await stopClean(service);
});

const createHostile = async (id: string, fault: string, more: object): Promise<void> => {
  const body = { id, kind: 'hostile', config: { fault }, ...more };
  expect((await create(service, body)).status).toBe(201);
};

/** The only incident report of the bot, as soon as it is on the disk. */
async function expectReport(id: string, reason: RegExp): Promise<void> {
  await eventually(async () => (await incidents(service, id)).length > 0, 'a report', 60_000);
  expect(await incidents(service, id)).toMatchObject([
    { type: 'over_quota', suspect: id, bots: [id], reason: expect.stringMatching(reason) },
  ]);
}

it('a bot that takes the processor: moved once, then stopped for good', async () => {
  const ofBot = (text: RegExp) =>
    lineFrom(stream, 0, (log) => log.session_id === 'busy' && text.test(log.message), 60_000);
  expect((await ofBot(/^used more than its quota/)).level).toBe('warn');
  await ofBot(/^it used more than its hard quota in \d+ s: cpu .* it has its own bot host$/);
  const moved = await snapshotFrom(stream, 0, 'busy', ({ host }) => host !== 0 && host !== null);
  expect(moved.usage).toBeNull();
  await statusFrom(stream, 0, 'busy', 'failed', 60_000);
  const reason =
    /it used more than its hard quota in \d+ s: cpu [\d.]+ of 0.1, alone on its bot host$/;
  expect(await snapshot(service, 'busy')).toMatchObject({
    status: 'failed',
    desired: 'running',
    restarts: 1,
    last_error: expect.stringMatching(reason),
    usage: null,
    over_quota: [],
  });
  await expectReport('busy', reason);
  expect(statusesOf(stream, 'busy').filter((status) => status === 'starting')).toHaveLength(2);
});

it('the memory of a bot with its own host is known and limited', async () => {
  await statusFrom(stream, 0, 'full', 'failed', 60_000);
  await expectReport('full', /memory_mb 2\d\d[\d.]* of 150, alone on its bot host$/);
});

it('over a soft quota a bot is named and runs on; what it uses is in its snapshot', async () => {
  const over = await snapshotFrom(stream, 0, 'named', (bot) => bot.over_quota.length > 0);
  expect(over.over_quota).toEqual(['memory_mb']);
  expect(over.usage?.['memory_mb']).toBeGreaterThan(200);
  expect((await snapshot(service, 'named')).status).toBe('ready');
});

it('no other bot loses anything, or is reported', async () => {
  for (const id of NEIGHBOURS) await expectUndisturbed(stream, id);
  expect((await incidents(service)).map(({ suspect }) => suspect).sort()).toEqual(['busy', 'full']);
});
