// What survives a shutdown, clean or unclean, and a broken store.

import { randomUUID } from 'node:crypto';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { call } from '../harness/api.js';
import {
  act,
  create,
  eventually,
  expectSingle,
  FIXTURE_KINDS,
  lineFrom,
  list,
  remove,
  snapshot,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import type { Log } from '../harness/shapes.js';

// Each test starts several services. The limit only ends a test that hangs.
vi.setConfig({ testTimeout: 60_000 });

let base: string;
let service: Service | undefined;
let lock: string;
beforeEach(() => {
  base = makeDir();
  // Bots of the previous test may end after their service's last response.
  lock = randomUUID();
});
afterEach(async () => {
  await stopClean(service);
  service = undefined;
  removeDir(base);
});

const dataDir = (): string => path.join(base, 'data');
const store = (): string => path.join(dataDir(), 'store.mdb');

async function start(kinds = [FIXTURE_KINDS]): Promise<Service> {
  service = await startService({
    dataDir: dataDir(),
    config: { kinds, hosts: { count: 1 }, restart: { backoff_ms: 20 } },
  });
  return service;
}

/** One bot of each sort, and what must be visible again after the restart. */
async function populate(running: Service): Promise<void> {
  const bots = [
    { id: 'runs', config: { lock, note: 'first', password: 'p' }, labels: { a: '1' } },
    { id: 'stopped', config: { lock }, desired: 'stopped' },
    { id: 'was-stopped', config: { lock } },
    { id: 'was-started', config: { lock }, desired: 'stopped' },
    { id: 'changed', config: { lock }, restart: { policy: 'always', max_restarts: 3 } },
    { id: 'dedicated', config: { lock }, dedicated: true },
    { id: 'deleted', config: { lock } },
  ];
  for (const bot of bots) {
    expect((await create(running, { kind: 'guarded', ...bot })).status).toBe(201);
  }
  await act(running, 'was-stopped', 'stop');
  await act(running, 'was-started', 'start');
  await call(running, 'PATCH', '/api/bots/changed', {
    body: { config: { note: 'second' }, labels: { b: '2' }, restart: { max_restarts: 4 } },
  });
  await remove(running, 'deleted');
}

const EXPECTED = {
  changed: ['running', 'online'],
  dedicated: ['running', 'online'],
  runs: ['running', 'online'],
  stopped: ['stopped', 'stopped'],
  'was-started': ['running', 'online'],
  'was-stopped': ['stopped', 'stopped'],
};

async function expectPopulation(running: Service): Promise<void> {
  const seen = async () =>
    Object.fromEntries((await list(running)).map((bot) => [bot.id, [bot.desired, bot.status]]));
  await eventually(
    async () =>
      JSON.stringify(Object.entries(await seen()).sort()) ===
      JSON.stringify(Object.entries(EXPECTED)),
    'the same bots in the same states',
  ).catch(async () => expect(await seen()).toEqual(EXPECTED));
  expect(await snapshot(running, 'runs')).toMatchObject({ labels: { a: '1' } });
  // A bot's data may lag behind its status by up to 100 ms.
  const note = async () => (await snapshot(running, 'changed')).data['note'];
  await eventually(async () => (await note()) !== undefined, 'the data of a bot');
  expect(await snapshot(running, 'changed')).toMatchObject({
    labels: { b: '2' },
    data: { note: 'second' },
  });
  expect((await call(running, 'GET', '/api/bots/changed/config')).json).toMatchObject({
    config: { note: 'second' },
    restart: { policy: 'always', max_restarts: 4, backoff_ms: 20 },
  });
  expect((await call(running, 'GET', '/api/bots/dedicated/config')).json).toMatchObject({
    dedicated: true,
  });
  expectSingle(await watch(running));
}

describe('a shutdown of the service', () => {
  it('clean, or by kill -9, keeps bots, configs and desired states', async () => {
    const first = await start();
    await populate(first);
    // Right after the last response: everything that was answered is on disk.
    await first.kill();
    const second = await start();
    await expectPopulation(second);
    await stopClean(second);
    await expectPopulation(await start());
  });

  it('leaves demo bots stopped while there is no demo world, and starts them with it', async () => {
    const demo = async (enabled: boolean): Promise<Service> => {
      service = await startService({ demo: enabled, dataDir: dataDir() });
      return service;
    };
    const seen = async (running: Service) =>
      (await list(running)).map(({ id, desired, status }) => [id, desired, status]).sort();
    const three = ['demo-1', 'demo-2', 'demo-3'];
    await stopClean(await demo(true));
    const without = await demo(false);
    expect(await seen(without)).toEqual(three.map((id) => [id, 'running', 'stopped']));
    const { json } = await call(without, 'GET', '/api/incidents');
    expect(json).toEqual({ incidents: [] });
    const stream = await watch(without, '?session=demo-1');
    // A bot with its own world is unaffected.
    const config = { world_url: 'http://127.0.0.1:9' };
    await create(without, { id: 'elsewhere', kind: 'demo', config, restart: { policy: 'never' } });
    await call(without, 'POST', '/api/bots/demo-1/start');
    const { last_error: why } = await statusFrom(stream, 0, 'demo-1', 'failed');
    expect(why).toContain('world_url');
    stream.close();
    await stopClean(without);
    const again = await demo(false);
    await statusFrom(await watch(again), 0, 'elsewhere', 'failed');
    await stopClean(again);
    const back = await demo(true);
    await eventually(
      async () => (await seen(back)).filter(([, , status]) => status === 'in_world').length === 3,
      'all three in the world',
    );
  });

  it('by repeated kill -9 during changes leaves each bot in the old or the new state', async () => {
    const ids = Array.from({ length: 3 }, (_, n) => `bot-${n}`);
    let running = await start();
    for (const id of ids)
      await create(running, { id, kind: 'guarded', config: { lock, note: '0' } });
    /** For each bot, the changes that were answered and those still without a response. */
    const known = new Map(ids.map((id) => [id, { done: 0, asked: 0 }]));
    for (let round = 0; round < 2; round++) {
      let answered = 0;
      const changes = ids.map(async (id) => {
        const state = known.get(id) as { done: number; asked: number };
        try {
          for (;;) {
            state.asked += 1;
            const body = { config: { note: String(state.asked) } };
            const { status } = await call(running, 'PATCH', `/api/bots/${id}`, { body });
            if (status !== 200) return;
            state.done = state.asked;
            answered += 1;
          }
        } catch {
          // The kill interrupted this one.
        }
      });
      await eventually(() => answered > 6, 'some changes');
      await running.kill();
      await Promise.all(changes);
      running = await start();
      for (const id of ids) {
        const { done, asked } = known.get(id) as { done: number; asked: number };
        const { config } = (await call(running, 'GET', `/api/bots/${id}/config`)).json as {
          config: { note: string };
        };
        expect([done, asked]).toContain(Number(config.note));
        known.set(id, { done: Number(config.note), asked: Number(config.note) });
      }
      expect((await list(running)).map(({ id }) => id).sort()).toEqual(ids);
    }
  });

  it('a bot whose kind is missing fails, is kept, and starts again when the kind is back', async () => {
    const first = await start();
    await create(first, { id: 'orphan', kind: 'guarded', config: { lock } });
    await first.stop();
    const second = await start([]);
    const shown = await snapshot(second, 'orphan');
    expect(shown).toMatchObject({ status: 'failed', desired: 'running' });
    expect(shown.last_error).toMatch(/unknown kind "guarded"/);
    await second.stop();
    const third = await start();
    await statusFrom(await watch(third), 0, 'orphan', 'online');
  });
});

describe('a broken store', () => {
  /** A data directory with bots and a copy of its store, left by a kill, and a token for it. */
  let template: string;
  let token: string;
  beforeAll(async () => {
    base = makeDir();
    lock = randomUUID();
    const first = await start();
    token = await first.token();
    await populate(first);
    // Its last step is a copy with all changes.
    await stopClean(first);
    await (await start()).kill();
    service = undefined;
    template = base;
  });
  afterAll(() => removeDir(template));
  // Node copies no sockets, as the lock is one.
  const filter = (source: string): boolean => !statSync(source).isSocket();
  beforeEach(() => cpSync(path.join(template, 'data'), dataDir(), { recursive: true, filter }));

  /** A line that the service logged at its start, before any client could connect: read by resuming from the first id. */
  async function notice(running: Service, wanted: RegExp): Promise<Log> {
    const now = await watch(running);
    await act(running, 'stopped', 'start');
    const { id = '' } = await now.waitFor((frame) => frame.id !== undefined);
    now.close();
    const stream = await watch(running, `?last_event_id=${id.split('-')[0]}-1`);
    const line = await lineFrom(stream, 0, ({ message }) => wanted.test(message));
    stream.close();
    return line;
  }

  const setAside = (): string[] =>
    readdirSync(dataDir()).filter((name) => name.startsWith('store.mdb.broken-'));

  /** Bytes of the store that have a use: behind them it has room for what comes. */
  const used = (): number => statSync(`${store()}.copy`).size;

  it.each<[string, RegExp, (bytes: Buffer) => Buffer]>([
    ['empty', /it is empty/, () => Buffer.alloc(0)],
    ['truncated to half', /./, (bytes) => bytes.subarray(0, used() / 2)],
    ['replaced by garbage', /./, () => Buffer.alloc(100_000, 'garbage')],
    ['overwritten after its header', /./, (bytes) => bytes.fill(0xa5, 8192)],
  ])(
    'that is %s is set aside and reported, and its copy is used; tokens survive',
    async (_, fault, damage) => {
      const broken = damage(readFileSync(store()));
      writeFileSync(store(), broken);
      const second = await start();
      const [aside = '', ...others] = setAside();
      expect(others).toEqual([]);
      expect(readFileSync(path.join(dataDir(), aside)).equals(broken)).toBe(true);
      expect((await call(second, 'GET', '/api-info', { token })).status).toBe(200);
      await expectPopulation(second);

      const line = await notice(second, /is set aside as/);
      expect(line).toMatchObject({ level: 'error', scope: 'drover', session_id: null });
      expect(line.message).toContain(aside);
      expect(line.message).toMatch(fault);
      expect(line.message).toMatch(/its last copy has taken its place/);
    },
  );

  it.each([
    ['and its lock', ['store.mdb', 'store.mdb-lock']],
    ['alone', ['store.mdb']],
  ])('that is missing, %s, is reported, and its copy replaces it and is kept', async (_, gone) => {
    const removeAll = (): void => {
      // There is no lock file when the kill came while the store was being rewritten.
      for (const name of gone) rmSync(path.join(dataDir(), name), { force: true });
    };
    removeAll();
    const second = await start();
    expect(setAside()).toEqual([]);
    expect((await call(second, 'GET', '/api-info', { token })).status).toBe(200);
    await expectPopulation(second);
    const line = await notice(second, /was missing/);
    expect(line).toMatchObject({ level: 'error', scope: 'drover' });
    expect(line.message).toBe(
      `the store ${store()} was missing; its last copy has taken its place`,
    );
    // This start took nothing from the copy either.
    await stopClean(second);
    removeAll();
    await act(await start(), 'stopped', 'stop');
    await expectPopulation(service as Service);
  });

  it('that is missing starts empty when its copy is broken, and the copy is kept', async () => {
    rmSync(store());
    writeFileSync(`${store()}.copy`, 'no copy');
    const second = await start();
    expect(await list(second)).toEqual([]);
    const kept = readdirSync(dataDir()).filter((name) => name.startsWith('store.mdb.copy.broken-'));
    expect(kept.map((name) => readFileSync(path.join(dataDir(), name), 'utf8'))).toEqual([
      'no copy',
    ]);
  });

  it('without a good copy starts empty, says so, and keeps the broken one', async () => {
    writeFileSync(store(), 'no store');
    writeFileSync(`${store()}.copy`, 'no copy');
    const second = await start();
    expect(await list(second)).toEqual([]);
    expect(setAside()).toHaveLength(1);
    const bot = { id: 'new', kind: 'guarded', config: { lock } };
    expect((await create(second, bot)).status).toBe(201);
  });
});

it('the copy of the store is updated even when changes never stop', async () => {
  const first = await start();
  await create(first, { id: 'busy', kind: 'guarded', config: { lock }, desired: 'stopped' });
  let over = false;
  const changing = (async () => {
    for (let n = 0; !over; n++) {
      const body = { labels: { n: String(n) } };
      expect((await call(first, 'PATCH', '/api/bots/busy', { body })).status).toBe(200);
    }
  })();
  try {
    await eventually(() => existsSync(`${store()}.copy`), 'a copy');
  } finally {
    over = true;
    await changing;
  }
});
