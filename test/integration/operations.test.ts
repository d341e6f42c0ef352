// Operations of a built service: clients that leave, an orderly stop, and a kill.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { DroverClient, type Operation } from '../../src/client/index.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

/** The second bot of an operation with it is not begun during a test. */
const HOURLY = { parallel: 1, stagger_ms: 3_600_000 };
const ids = ['a', 'b', 'c'];

let dataDir: string;
let service: Service;
let client: DroverClient;

beforeEach(async () => {
  dataDir = makeDir();
  await start();
  await client.bots.createMany(
    ids.map((id) => ({ id, kind: 'synthetic', desired: 'stopped' as const })),
  );
});
afterEach(async () => {
  await stopClean(service);
  removeDir(dataDir);
});

async function start(): Promise<void> {
  service = await startService({ dataDir });
  client = new DroverClient({ url: service.url, token: await service.token() });
}

/** One whose first bot is done, and stored. */
async function begun(): Promise<Operation> {
  const { operation } = await client.bots.begin({ action: 'start', ids, ...HOURLY }, { wait: 0 });
  await expect.poll(async () => (await client.operations.get(operation.id)).counts.done).toBe(1);
  return operation;
}

it('an operation continues when its client leaves', async () => {
  const leaving = new AbortController();
  const waits = client.bots.begin({ action: 'start', ids, ...HOURLY }, { signal: leaving.signal });
  const newest = async () => (await client.operations.list({ limit: 1 })).operations[0];
  await expect.poll(async () => (await newest())?.title).toBe('start 3 bots');
  leaving.abort();
  await expect(waits).rejects.toThrow();
  await client.health();
  expect(await newest()).toMatchObject({ title: 'start 3 bots', state: 'running' });
});

it('after a kill it is interrupted, and nothing that was not stored is said to be done', async () => {
  const { id } = await begun();
  await service.kill();
  await start();
  const after = await client.operations.get(id);
  expect(after).toMatchObject({
    state: 'interrupted',
    reason: 'the service ended before the operation',
    counts: { waiting: 0, running: 0, skipped: 0 },
  });
  const { bots } = await client.operations.bots(id);
  expect(bots.slice(1).map(({ id: bot, result }) => `${bot} ${result}`)).toEqual([
    'b unknown',
    'c unknown',
  ]);
  // Its result may have been stored before the kill.
  expect(['done', 'unknown']).toContain(bots[0]?.result);
});

it('an orderly stop knows which bots were not begun', async () => {
  const { id } = await begun();
  await stopClean(service);
  await start();
  expect(await client.operations.get(id)).toMatchObject({
    state: 'interrupted',
    reason: 'the service was stopped',
    counts: { done: 1, skipped: 2, unknown: 0 },
  });
});
