// Bots whose starts are spread: through the registry, with a fake host, and time that the test moves.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { NO_OTHER_BOTS } from '../../../src/cluster/cluster.js';
import type { BotDependencies } from '../../../src/main/bots/bot.js';
import type { Incidents } from '../../../src/main/bots/incidents.js';
import { KindQuarantine } from '../../../src/main/bots/kind-quarantine.js';
import { KindSchemas } from '../../../src/main/bots/kind-schemas.js';
import { KindVersions } from '../../../src/main/bots/kind-versions.js';
import { BotRegistry } from '../../../src/main/bots/registry.js';
import { type StartLimits, StartPace } from '../../../src/main/bots/start-pace.js';
import type { BotStore } from '../../../src/main/store/bot-store.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';
import type { ServiceEvents } from '../../../src/main/threads/service-events.js';
import type { BotActionsBody, BotSpec, CreateBotBody } from '../../../src/shared/contract/bots.js';
import type { Item } from '../../../src/shared/contract/events.js';
import { partial } from '../../harness/partial.js';
import { RESTART_AT_ONCE } from './restart-at-once.js';

let started: string[];
let lines: string[];
let statuses: string[];
let host: HostThread;
let stored: BotSpec[];

beforeEach(() => {
  vi.useFakeTimers();
  started = [];
  lines = [];
  statuses = [];
  stored = [];
});
afterEach(() => void vi.useRealTimers());

function registryWith(limits: Partial<StartLimits>): BotRegistry {
  host = partial<HostThread>({
    number: 0,
    startBot: async ({ id }: { id: string }) => void started.push(id),
    stopBot: async () => {},
  });
  const keep = (items: Item[]): void => {
    for (const item of items) {
      if (item.kind === 'log') lines.push(`${item.session_id} ${JSON.parse(item.message_json)}`);
      else if ('status' in item.patch) statuses.push(`${item.id} ${item.patch.status}`);
    }
  };
  const dependencies = {
    hosts: {
      clear: async () => null,
      place: async () => host,
      leave: () => {},
      threads: () => [],
    },
    pace: new StartPace({ total: null, byKind: {}, ...limits }),
    events: {
      tell: (...items: Item[]) => keep(items),
      publish: async (...items: Item[]) => keep(items),
    } as unknown as ServiceEvents,
    restarted: () => {},
    graceMs: 1000,
    isolationOf: () => 'thread',
    cluster: NO_OTHER_BOTS,
  } as unknown as BotDependencies;
  const store = { put: async () => {}, all: () => stored, remove: async () => {} };
  const schemas = new KindSchemas();
  schemas.add(
    ['k', 'slow'].map((kind) => ({
      kind,
      description: '',
      config: { type: 'object' },
      commands: {},
    })),
  );
  const incidents = { report: async () => {} } as unknown as Incidents;
  const kinds = new KindQuarantine();
  const bots = partial<BotStore>(store);
  return new BotRegistry({
    bots: dependencies,
    schemas,
    versions: new KindVersions(),
    kinds,
    store: bots,
    incidents,
    defaults: RESTART_AT_ONCE,
    noteStart: () => {},
  });
}

const body = (id: string, kind = 'k'): CreateBotBody =>
  ({ id, kind, config: {}, labels: {}, dedicated: false, desired: 'running' }) as CreateBotBody;
const many = (count: number): CreateBotBody[] =>
  Array.from({ length: count }, (_, n) => body(`bot-${n}`));
/** Lets everything happen that needs no time. */
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

/** A registry that has begun with so many bots, at two a second. */
async function begun(count: number): Promise<BotRegistry> {
  const registry = registryWith({ total: 2 });
  await Promise.all([registry.show(many(count)), settle()]);
  await Promise.all([registry.begin(() => null), vi.advanceTimersByTimeAsync(1)]);
  return registry;
}

it('at the start of the service bots start evenly spread, and say when', async () => {
  const registry = await begun(10);
  expect(started).toEqual(['bot-0']);
  expect(registry.snapshots([]).map(({ status }) => status)).toEqual(Array(10).fill('starting'));
  expect(lines).toContain(
    'bot-9 waits for its turn to start: about 5 s, bots before it: 8 (hosts.starts_per_second)',
  );
  await vi.advanceTimersByTimeAsync(2000);
  expect(started).toHaveLength(5);
  await vi.advanceTimersByTimeAsync(2500);
  expect(started).toEqual(many(10).map(({ id }) => id));
  expect(registry.running).toBe(10);
});

it('the start that an operator asks for comes next, and answers at once', async () => {
  const registry = await begun(5000);
  await registry.create(body('mine'));
  await registry.create(body('yours'));
  expect(started).toEqual(['bot-0']);
  expect(registry.snapshots([]).at(-1)).toMatchObject({ id: 'yours', status: 'starting' });
  // One of those that wait, too; and asked for twice it keeps its place.
  await registry.act('bot-4000', 'start');
  await registry.act('bot-4000', 'start');
  expect(lines.at(-1)).toBe(
    'bot-4000 waits for its turn to start: about 1 s, bots before it: 2 (hosts.starts_per_second)',
  );
  await vi.advanceTimersByTimeAsync(2000);
  expect(started).toEqual(['bot-0', 'mine', 'yours', 'bot-4000', 'bot-1']);
});

it('a bulk start, restart or an action on many keeps the places of those that wait', async () => {
  const registry = await begun(100);
  const ids = many(100).map(({ id }) => id);
  const start = { action: 'start', ids } as BotActionsBody;
  const outcomes = await registry.actOnMany(start, () => {});
  expect(Object.values(outcomes)).toEqual(Array(100).fill({ status: 'starting' }));
  await vi.advanceTimersByTimeAsync(1000);
  expect(started).toEqual(['bot-0', 'bot-1', 'bot-2']);
});

it('a bot that waits can be stopped and deleted, and its turn goes to the next', async () => {
  const registry = await begun(5);
  await registry.act('bot-1', 'stop');
  await registry.act('bot-2', 'delete');
  expect(statuses.slice(-3)).toEqual(['bot-1 stopped', 'bot-2 stopped', 'bot-2 deleted']);
  await vi.advanceTimersByTimeAsync(1000);
  expect(started).toEqual(['bot-0', 'bot-3', 'bot-4']);
  expect(vi.getTimerCount()).toBe(0);
});

it('after the loss of a host the restarts are spread, and each bot stays in backoff until its turn', async () => {
  const registry = await begun(6);
  await vi.advanceTimersByTimeAsync(3000);
  expect(registry.running).toBe(6);
  started.length = 0;
  registry.hostLost(host, 'broken', null, null);
  await vi.advanceTimersByTimeAsync(1);
  expect(started).toHaveLength(1);
  const shown = registry.snapshots([]).map(({ status }) => status);
  expect(shown.filter((status) => status === 'backoff')).toHaveLength(5);
  await vi.advanceTimersByTimeAsync(2500);
  expect(started).toHaveLength(6);
  expect(registry.snapshots([]).map(({ restarts }) => restarts)).toEqual(Array(6).fill(1));
});

it('a kind has its own rate, and the others do not wait for it', async () => {
  const registry = registryWith({ byKind: { slow: 1 } });
  for (let n = 0; n < 5; n++) await registry.create(body(`slow-${n}`, 'slow'));
  for (let n = 0; n < 5; n++) await registry.create(body(`bot-${n}`));
  await settle();
  expect(started).toEqual(['slow-0', ...many(5).map(({ id }) => id)]);
  await vi.advanceTimersByTimeAsync(4000);
  expect(started).toHaveLength(10);
});

it('a shutdown ends the wait: nothing starts afterwards', async () => {
  const registry = await begun(50);
  await Promise.all([registry.stopAll(1000), settle()]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(started).toEqual(['bot-0']);
  expect(registry.snapshots([]).every(({ status }) => status === 'stopped')).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});
