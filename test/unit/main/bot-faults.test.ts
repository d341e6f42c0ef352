// Bots on a full disk: the store's methods reject. The bot host is a fake.

import { describe, expect, it, vi } from 'vitest';
import { NO_OTHER_BOTS } from '../../../src/cluster/cluster.js';
import { BotAccess, type BotAccessParts } from '../../../src/main/access/bot-access.js';
import type { BotDependencies } from '../../../src/main/bots/bot.js';
import type { Found, Incidents } from '../../../src/main/bots/incidents.js';
import { KindQuarantine } from '../../../src/main/bots/kind-quarantine.js';
import { KindSchemas } from '../../../src/main/bots/kind-schemas.js';
import { KindVersions } from '../../../src/main/bots/kind-versions.js';
import { BotRegistry } from '../../../src/main/bots/registry.js';
import { StartPace } from '../../../src/main/bots/start-pace.js';
import {
  type ServiceCommandParts,
  ServiceCommands,
} from '../../../src/main/service/service-commands.js';
import type { BotStore } from '../../../src/main/store/bot-store.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';
import type { ServiceEvents } from '../../../src/main/threads/service-events.js';
import type { BotActionsBody, BotSpec, CreateBotBody } from '../../../src/shared/contract/bots.js';
import type { Item } from '../../../src/shared/contract/events.js';
import { partial } from '../../harness/partial.js';
import { PATIENCE_MS } from '../../harness/patience.js';
import { RESTART_AT_ONCE } from './restart-at-once.js';

const SECRET = 'MDB_MAP_FULL: /var/lib/drover/store.mdb';

let full = false;
let noRoom = false;
/** Types and reasons of the incident reports. */
let reports: string[] = [];
let calls: string[] = [];
let kinds: KindQuarantine;
/** Numbers of the runs that were started. */
let runs: number[] = [];
const lines: string[] = [];
const events = partial<ServiceEvents>({
  tell: (...items: Item[]) => {
    for (const item of items) if (item.kind === 'log') lines.push(JSON.parse(item.message_json));
  },
  publish: async () => 1,
});

async function registryWith(bots: Partial<CreateBotBody>[]): Promise<BotRegistry> {
  full = false;
  noRoom = false;
  reports = [];
  calls = [];
  runs = [];
  lines.length = 0;
  const host = {
    number: 0,
    startBot: async ({ id, run }: { id: string; run: number }) => {
      calls.push(`start ${id}`);
      runs.push(run);
    },
    stopBot: async (id: string) => void calls.push(`stop ${id}`),
  };
  const dependencies = {
    pace: new StartPace({ total: null, byKind: {} }),
    hosts: {
      clear: async () => ({ replaced: false, stuck: null }),
      // Another one each time.
      place: async () => ({ ...host }),
      leave: () => {},
      threads: () => [],
      admitSuspect: () => {
        if (noRoom) throw new Error('no more dedicated hosts');
      },
    },
    events,
    restarted: () => {},
    graceMs: 1000,
    isolationOf: () => 'thread',
    cluster: NO_OTHER_BOTS,
  } as unknown as BotDependencies;
  const store = partial<BotStore>({
    put: async (_: BotSpec) => {
      if (full) throw new Error(SECRET);
    },
    all: () => [],
    remove: async () => {},
  });
  const schemas = new KindSchemas();
  schemas.add([{ kind: 'k', description: '', config: { type: 'object' }, commands: {} }]);
  const incidents = partial<Incidents>({
    report: ({ type, reason }: Found) => {
      reports.push(`${type}: ${reason}`);
      return { id: null, stored: Promise.resolve() };
    },
  });
  kinds = new KindQuarantine();
  const registry = new BotRegistry({
    bots: dependencies,
    schemas,
    versions: new KindVersions(),
    kinds,
    store,
    incidents,
    defaults: RESTART_AT_ONCE,
    noteStart: () => {},
  });
  for (const bot of bots) {
    const defaults = { kind: 'k', config: {}, labels: {}, dedicated: false, desired: 'running' };
    await registry.create({ ...defaults, ...bot } as CreateBotBody);
  }
  return registry;
}

it('a stop that cannot be stored leaves the bot running, and the next one stops it', async () => {
  const registry = await registryWith([{ id: 'a' }]);
  full = true;
  await expect(registry.act('a', 'stop')).rejects.toThrow(SECRET);
  expect(registry.isRunning('a')).toBe(true);
  expect(calls).toEqual(['start a']);
  full = false;
  await registry.act('a', 'stop');
  expect(calls).toEqual(['start a', 'stop a']);
  expect(registry.isRunning('a')).toBe(false);
});

it('an error after the end of a run is a line of its bot, not of a later bot with the same id', async () => {
  const registry = await registryWith([{ id: 'a' }]);
  await registry.act('a', 'restart');
  const [first = 0, second = 0] = runs;
  registry.lateError({ id: 'a', run: first, error: 'one' });
  registry.lateError({ id: 'a', run: second, error: 'two' });
  await registry.act('a', 'delete');
  registry.lateError({ id: 'a', run: second, error: 'three' });
  await registry.create({
    id: 'a',
    kind: 'k',
    config: {},
    labels: {},
    dedicated: false,
    desired: 'running',
  });
  registry.lateError({ id: 'a', run: second, error: 'four' });
  registry.lateError({ id: 'a', run: runs[2] ?? 0, error: 'five' });
  const said = lines.filter((line) => line.startsWith('error after'));
  expect(said).toEqual(
    ['one', 'two', 'five'].map((error) => `error after the end of its run: ${error}`),
  );
});

it('a bulk action reports an internal error to the operator, not to the client', async () => {
  const registry = await registryWith([{ id: 'a', desired: 'stopped' }, { id: 'b' }]);
  full = true;
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const start = partial<BotActionsBody>({ action: 'start', ids: ['a', 'b', 'c'] });
  const results = await registry.actOnMany(start, () => {});
  const told = stderr.mock.calls.map(String).join('');
  stderr.mockRestore();
  expect(results).toEqual({
    a: { error: 'internal error' },
    b: { status: 'starting' },
    c: { error: 'no bot "c"' },
  });
  expect(told).toBe(`drover: start of bot a failed: ${SECRET}\n`);
});

it('a command does too, and neither does the stream show it', async () => {
  const registry = await registryWith([]);
  vi.spyOn(registry, 'commandTarget').mockImplementation(() => {
    throw new Error(SECRET);
  });
  const commands = new ServiceCommands(
    partial<ServiceCommandParts>({ registry, drilled: null }),
    events,
  );
  const access = new BotAccess(partial<BotAccessParts>({ registry, commands }));
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const rights = { scopes: ['invoke' as const], reach: null };
  const targets = access.commandTargets({ bots: ['a'], command: 'say', rights });
  const told = stderr.mock.calls.map(String).join('');
  stderr.mockRestore();
  expect(targets).toMatchObject([{ error: { message: 'internal error' } }]);
  expect(lines).toEqual(['say failed: internal error']);
  expect(told).toBe(`drover: the command say failed: ${SECRET}\n`);
});

it('a bot of a quarantined kind fails at its start, and starts when the kind is released', async () => {
  const registry = await registryWith([{ id: 'a', desired: 'stopped' }, { id: 'b' }]);
  for (let n = 0; n < 2; n++) kinds.lost('k', 'its timer threw', n);
  await registry.act('a', 'start');
  expect(registry.snapshots([])[0]).toMatchObject({
    status: 'failed',
    last_error: 'the bot kind k is quarantined: its timer threw',
  });
  // It runs on a host that has not been lost.
  expect(registry.isRunning('b')).toBe(true);
  expect(calls).toEqual(['start b']);
  expect(registry.releaseKind('k')).toBe(1);
  await vi.waitFor(() => expect(registry.isRunning('a')).toBe(true), PATIENCE_MS);
  expect(() => registry.releaseKind('k')).toThrow('the bot kind k is not quarantined');
  expect(() => registry.releaseKind('x')).toThrow('no bot kind "x"');
});

it('a bot that was stopped while its kind was quarantined is not started by the release', async () => {
  const registry = await registryWith([{ id: 'a', desired: 'stopped' }]);
  for (let n = 0; n < 2; n++) kinds.lost('k', 'its timer threw', n);
  await registry.act('a', 'start');
  await registry.act('a', 'stop');
  expect(registry.releaseKind('k')).toBe(0);
  expect(calls).toEqual([]);
});

describe('a bot over its hard quota', () => {
  const OVER = 'it used too much';
  const hostOf = (registry: BotRegistry): HostThread => registry.hostOf('a') as HostThread;

  it('is moved once, then stopped for good, with an incident report; a start by hand starts it', async () => {
    const registry = await registryWith([{ id: 'a' }]);
    registry.overQuota('a', hostOf(registry), OVER);
    await vi.waitFor(() => expect(calls).toEqual(['start a', 'stop a', 'start a']), PATIENCE_MS);
    expect(lines).toContain(`${OVER}; from now on it has its own bot host`);
    expect(reports).toEqual([]);
    registry.overQuota('a', hostOf(registry), OVER);
    await vi.waitFor(() => expect(statusOf(registry, 'a')).toBe('failed'), PATIENCE_MS);
    const why = `${OVER}, alone on its bot host`;
    expect(reports).toEqual([`over_quota: bot a: ${why}`]);
    expect(lines).toContain(`stopped: ${why}`);
    expect(registry.snapshots([])[0]).toMatchObject({ last_error: why, desired: 'running' });
    expect(calls).toEqual(['start a', 'stop a', 'start a', 'stop a']);
    await registry.act('a', 'start');
    expect(registry.isRunning('a')).toBe(true);
  });

  it('is stopped at once where it is alone, or where there is no room for another host', async () => {
    const registry = await registryWith([{ id: 'a', dedicated: true }]);
    registry.overQuota('a', hostOf(registry), OVER);
    await vi.waitFor(() => expect(statusOf(registry, 'a')).toBe('failed'), PATIENCE_MS);
    const other = await registryWith([{ id: 'a' }]);
    noRoom = true;
    other.overQuota('a', hostOf(other), OVER);
    await vi.waitFor(() => expect(statusOf(other, 'a')).toBe('failed'), PATIENCE_MS);
    expect(reports).toEqual([
      `over_quota: bot a: ${OVER}, and cannot have its own bot host: no more dedicated hosts`,
    ]);
  });

  it('that has left that host meanwhile stays as it is', async () => {
    const registry = await registryWith([{ id: 'a', dedicated: true }]);
    registry.overQuota('a', { number: 7 } as HostThread, OVER);
    const host = hostOf(registry);
    await registry.act('a', 'stop');
    registry.overQuota('a', host, OVER);
    registry.overQuota('nobody', host, OVER);
    await registry.act('a', 'start');
    expect([statusOf(registry, 'a'), reports]).toEqual(['starting', []]);
  });
});

function statusOf(registry: BotRegistry, id: string): string | undefined {
  return registry.snapshots([]).find((bot) => bot.id === id)?.status;
}
