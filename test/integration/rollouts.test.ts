// Rollouts: another version or configuration for bots, one after the other, and the way back; also over kill -9.

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ListedKind } from '../../src/shared/contract/bots.js';
import type { Operation, OperationBots, Rollout } from '../../src/shared/contract/operations.js';
import { call, expectError } from '../harness/api.js';
import { create, invoke, list } from '../harness/bots.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

type RolloutOperation = Operation & { rollout: Rollout };

let dir: string;
let kinds: string;
let service: Service;

/** @param life what a bot does after it was started. */
function write(version: number, life = 'ctx.setStatus("up")', schema = ''): void {
  writeFileSync(
    path.join(kinds, 'trader.mjs'),
    `export default {
      kind: 'trader', description: '', ready: 'up', state() {},
      config: { type: 'object', properties: { pace: { type: 'number', default: 1 }, token: { type: 'string', writeOnly: true } ${schema} }, additionalProperties: false },
      commands: { version: { description: '', args: {}, run: (ctx) => [${version}, ctx.config.pace] } },
      async run(ctx) { ${life}; await ctx.sleep(2 ** 30); },
    };`,
  );
}

const BROKEN = 'await ctx.sleep(20); throw new Error("broken release")';
const BOTS = 12;
const ids = Array.from({ length: BOTS }, (_, n) => `t${n + 1}`);

async function start(): Promise<void> {
  const hosts = { count: 1, stop_grace_ms: 500 };
  const config = { kinds: [kinds], hosts, restart: { backoff_ms: 100, backoff_cap_ms: 100 } };
  service = await startService({ config, dataDir: path.join(dir, 'data') });
}

beforeEach(async () => {
  dir = makeDir();
  kinds = path.join(dir, 'kinds');
  mkdirSync(kinds);
  write(1);
  await start();
  for (const id of ids) await create(service, { id, kind: 'trader' });
});

afterEach(async () => {
  await stopClean(service);
  removeDir(dir);
});

async function begin(body: object): Promise<RolloutOperation> {
  const { status, json } = await call(service, 'POST', '/api/rollouts', { body });
  expect(json).toMatchObject({ type: 'rollout' });
  expect(status).toBe(201);
  return json as RolloutOperation;
}

async function get(id: string, wait = 0): Promise<RolloutOperation> {
  return (await call(service, 'GET', `/api/operations/${id}?wait=${wait}`))
    .json as RolloutOperation;
}

/** The rollout, once it waits after its canaries. */
async function waiting(id: string): Promise<RolloutOperation> {
  await expect.poll(async () => (await get(id)).rollout.waits, { timeout: 20_000 }).toBe(true);
  return get(id);
}

/** The operation that takes it back, when it has ended. */
async function undone(id: string): Promise<RolloutOperation> {
  const by = async (): Promise<string | null> => (await get(id)).rollout.undone_by;
  await expect.poll(by, { timeout: 20_000 }).not.toBeNull();
  return get((await by()) as string, 30_000);
}

async function post(target: string): Promise<RolloutOperation> {
  const { status, json } = await call(service, 'POST', target);
  expect(status, JSON.stringify(json)).toBe(200);
  return json as RolloutOperation;
}

/** What each bot runs, as the bots themselves say it. */
async function running(some = ids): Promise<unknown[]> {
  return Promise.all(
    some.map(
      async (id) => ((await invoke(service, id, 'version')).json as { result: unknown }).result,
    ),
  );
}

async function versions(): Promise<number[]> {
  const { json } = await call(service, 'GET', '/api/kinds/trader');
  return (json as ListedKind).versions.map(({ bots }) => bots);
}

const all = (version: number, pace = 1): unknown[] => ids.map(() => [version, pace]);

it('a good version reaches every bot, and is that of the next starts', async () => {
  write(2);
  const { id } = await begin({ kind: 'trader', parallel: 3 });
  const over = await get(id, 30_000);
  expect(over).toMatchObject({ state: 'done', counts: { done: BOTS, failed: 0 } });
  expect(await running()).toEqual(all(2));
  expect(await versions()).toEqual([BOTS]);
  await create(service, { id: 'next', kind: 'trader' });
  expect(await running(['next'])).toEqual([[2, 1]]);
  expectError(
    await call(service, 'POST', '/api/rollouts', { body: { kind: 'trader' } }),
    409,
    /^all of these bots have version [0-9a-f]{8} already$/,
  );
});

it('a canary waits for a person; promote continues it, and revert takes it back', async () => {
  write(2);
  const { id } = await begin({ kind: 'trader', canary: 2 });
  const at = await waiting(id);
  expect(at.counts).toMatchObject({ done: 2, waiting: BOTS - 2 });
  expect(await running()).toEqual([[2, 1], [2, 1], ...all(1).slice(2)]);
  // Others start with the version before, a canary with the new one.
  for (const bot of ['t1', 't12']) await call(service, 'POST', `/api/bots/${bot}/restart`);
  expect(await running(['t1', 't12'])).toEqual([
    [2, 1],
    [1, 1],
  ]);
  expectError(
    await call(service, 'POST', '/api/kinds/trader/reload'),
    409,
    `the bot kind trader is not reloaded: rollout ${id} is under way`,
  );
  expectError(
    await call(service, 'POST', '/api/rollouts', { body: { ids: ['t3'], config: { pace: 2 } } }),
    409,
    `rollout ${id} is under way, which has bot t3 too`,
  );
  await post(`/api/rollouts/${id}/promote`);
  expect(await get(id, 30_000)).toMatchObject({ state: 'done', rollout: { waits: false } });
  expect(await running()).toEqual(all(2));
  const undoing = await post(`/api/rollouts/${id}/revert`);
  expect(await get(undoing.id, 30_000)).toMatchObject({ state: 'done', rollout: { undoes: id } });
  expect(await running()).toEqual(all(1));
  // The files on the disk are of the version that was taken back: they are not used because the service starts again.
  await stopClean(service);
  await start();
  await expect
    .poll(async () => (await list(service)).every(({ status }) => status === 'up'))
    .toBe(true);
  expect(await running()).toEqual(all(1));
  expect(service.stderr()).toMatch(/its files hold version [0-9a-f]{8}, which was taken back/);
  await call(service, 'POST', '/api/kinds/trader/reload');
  await call(service, 'POST', '/api/bots/t1/restart');
  expect(await running(['t1'])).toEqual([[2, 1]]);
});

it('a broken version stops at its canaries, all of which go back by themselves', async () => {
  write(2, BROKEN);
  const { id } = await begin({ kind: 'trader', canary: 5 });
  const over = await get(id, 30_000);
  expect(over).toMatchObject({ state: 'stopped', reason: expect.stringMatching(/^failed: 1/) });
  const undoing = await undone(id);
  expect(undoing).toMatchObject({ state: 'done', bots: 5, counts: { done: 5 } });
  await expect.poll(() => versions()).toEqual([BOTS]);
  await expect.poll(() => running(), { timeout: 10_000 }).toEqual(all(1));
  const { bots } = (await call(service, 'GET', `/api/operations/${id}/bots?result=failed`))
    .json as OperationBots;
  expect(bots[0]).toMatchObject({ error: 'broken release' });
  const restarts = (await list(service)).filter(({ restarts: count }) => count > 0);
  expect(restarts.length).toBeLessThanOrEqual(5);
});

it('after a reload, a broken version goes back to the one that the bots run', async () => {
  write(2, BROKEN);
  const reload = await call(service, 'POST', '/api/kinds/trader/reload');
  expect(reload.status, JSON.stringify(reload.json)).toBe(200);
  expect(await versions()).toEqual([0, BOTS]);
  const { id } = await begin({ kind: 'trader', canary: 2, max_failed: 0 });
  expect(await undone(id)).toMatchObject({ state: 'done', counts: { failed: 0 } });
  expect(await running()).toEqual(all(1));
  expect(await versions()).toEqual([BOTS]);
  await create(service, { id: 'next', kind: 'trader' });
  expect(await running(['next'])).toEqual([[1, 1]]);
});

it('a bot that does not become ready in time has failed; more than max_failed may be', async () => {
  write(2, 'if (ctx.id === "t1") return ctx.sleep(2 ** 30); ctx.setStatus("up")');
  const { id } = await begin({ kind: 'trader', healthy_ms: 300, max_failed: 1 });
  expect(await get(id, 30_000)).toMatchObject({
    state: 'done',
    counts: { done: BOTS - 1, failed: 1 },
  });
  const { bots } = (await call(service, 'GET', `/api/operations/${id}/bots?result=failed`))
    .json as OperationBots;
  expect(bots).toMatchObject([{ id: 't1', error: 'it did not get the status up within 300 ms' }]);
  expect(await running()).toEqual(all(2));
});

it('a configuration is rolled out over a query, and taken back', async () => {
  await call(service, 'PATCH', '/api/bots/t2', { body: { config: { pace: 7 } } });
  await call(service, 'POST', '/api/bots/t3/stop');
  const { id } = await begin({ query: 'bot:t1,t2,t3', config: { pace: 3 } });
  expect(await get(id, 30_000)).toMatchObject({ state: 'done', counts: { done: 3 } });
  expect(await running(['t1', 't2', 't4'])).toEqual([
    [1, 3],
    [1, 3],
    [1, 1],
  ]);
  const configOf = async (bot: string) =>
    (await call(service, 'GET', `/api/bots/${bot}/config`)).json as { config: object };
  expect((await configOf('t3')).config).toEqual({ pace: 3 });
  expect((await call(service, 'GET', '/api/bots/t3')).json).toMatchObject({ status: 'stopped' });
  await get((await post(`/api/rollouts/${id}/revert`)).id, 30_000);
  expect(await running(['t1', 't2'])).toEqual([
    [1, 1],
    [1, 7],
  ]);
  expect((await configOf('t3')).config).toEqual({ pace: 1 });
});

it('abort ends a rollout in the middle and takes it back; bots that are gone or stopped do not hold it up', async () => {
  write(2);
  const { id } = await begin({ kind: 'trader', canary: 4 });
  await waiting(id);
  await call(service, 'DELETE', '/api/bots/t1');
  await call(service, 'POST', '/api/bots/t2/stop');
  const undoing = await post(`/api/rollouts/${id}/abort`);
  expect(await get(undoing.id, 30_000)).toMatchObject({ state: 'done', bots: 3 });
  expect(await get(id)).toMatchObject({ state: 'canceled', rollout: { undone_by: undoing.id } });
  expect(await running(ids.slice(2))).toEqual(all(1).slice(2));
  await call(service, 'POST', '/api/bots/t2/start');
  expect(await running(['t2'])).toEqual([[1, 1]]);
});

const REFUSED: [string, object, number, RegExp][] = [
  ['nothing', {}, 400, /kind|config/],
  ['an unknown kind', { kind: 'nope' }, 404, /^no bot kind "nope"$/],
  ['an unknown version', { kind: 'trader', version: '00000000' }, 404, /is not known$/],
  [
    'a selector that matches nothing',
    { query: 'bot:none', config: { pace: 2 } },
    409,
    /^no bot is selected$/,
  ],
  ['bots of another kind', { kind: 'trader', ids: ['other'] }, 400, /^bot other is of the kind/],
  [
    'a configuration that is not valid',
    { ids: ['t1'], config: { pace: 'x' } },
    409,
    /^configurations would not be valid: t1: config\.pace must be number$/,
  ],
  ['a secret', { ids: ['t1'], config: { token: 'x' } }, 400, /^a rollout changes no secrets/],
  ['all bots of every kind', { config: { pace: 2 } }, 400, /^select bots/],
];

it.each(REFUSED)('%s is refused before anything stops', async (_, body, status, reason) => {
  await create(service, { id: 'other', kind: 'synthetic' });
  write(2);
  expectError(await call(service, 'POST', '/api/rollouts', { body }), status, reason);
  expect(await running()).toEqual(all(1));
});

it('a schema that refuses configurations of today is refused before anything stops', async () => {
  write(2, undefined, ', needed: {} }, required: ["needed"], x: {');
  expectError(
    await call(service, 'POST', '/api/rollouts', { body: { kind: 'trader' } }),
    409,
    /^configurations would not be valid: t1: config\.needed is missing; .*; and 9 more$/,
  );
});

async function killed(): Promise<void> {
  await service.kill();
  await start();
}

it('kill -9 while it goes through its bots: it continues, and each bot has one version in the end', async () => {
  write(2);
  const { id } = await begin({ kind: 'trader', parallel: 1, stagger_ms: 150 });
  await expect
    .poll(async () => (await get(id)).counts.done, { timeout: 20_000 })
    .toBeGreaterThan(3);
  await killed();
  const over = await get(id, 60_000);
  expect(over).toMatchObject({ state: 'done', counts: { done: BOTS, failed: 0, unknown: 0 } });
  expect(await running()).toEqual(all(2));
  expect(await versions()).toEqual([BOTS]);
});

it('kill -9 while it waits after its canaries: it waits on, with the same bots changed', async () => {
  write(2);
  const { id } = await begin({ kind: 'trader', canary: 3 });
  await waiting(id);
  // The files on the disk may be those of any version by then.
  write(9);
  await killed();
  await waiting(id);
  const ups = async () => (await list(service)).filter(({ status }) => status === 'up').length;
  await expect.poll(ups, { timeout: 20_000 }).toBe(BOTS);
  expect(await running()).toEqual([...all(2).slice(0, 3), ...all(1).slice(3)]);
  await post(`/api/rollouts/${id}/promote`);
  expect(await get(id, 30_000)).toMatchObject({ state: 'done' });
  expect(await running()).toEqual(all(2));
});

it('kill -9 while a broken version goes back: it goes back', async () => {
  write(2, BROKEN);
  const { id } = await begin({ kind: 'trader', canary: 6, parallel: 6, stagger_ms: 50 });
  await expect.poll(async () => (await get(id)).state, { timeout: 20_000 }).toBe('stopped');
  await killed();
  const undoing = await undone(id);
  expect(undoing.state).toBe('done');
  await expect.poll(() => running(), { timeout: 20_000 }).toEqual(all(1));
});
