import { NO_TOKEN_SHARING } from '../../../src/cluster/cluster.js';
import { NOT_SHARED_YET } from '../../../src/cluster/control/token-sync.js';
// Expiry with a clock that jumps, and removal with a disk that fails: a running service does not show these.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { SecurityEvents } from '../../../src/main/access/security-events.js';
import { TokenRegistry } from '../../../src/main/access/token-registry.js';
import { Store } from '../../../src/main/store/store.js';
import { TokenStore } from '../../../src/main/store/token-store.js';
import type { TokenRecord, TokenUse } from '../../../src/shared/contract/tokens.js';
import { DroverError } from '../../../src/shared/errors.js';
import { PATIENCE_MS } from '../../harness/patience.js';

interface Setup {
  registry: TokenRegistry;
  store: Store;
  tokens: TokenStore;
  /** Ids that the fronts accept. */
  accepted: Set<string>;
  lines: string[];
}

/** A registry on a real store, with fake fronts. */
async function setUp(sign_in_days = 0, sharing = NO_TOKEN_SHARING): Promise<Setup> {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  const store = await Store.open(path.join(dir, 'store.mdb'));
  const tokens = new TokenStore(store);
  const accepted = new Set<string>();
  const lines: string[] = [];
  const holders = {
    addToken: async ({ id }: { id: string }) => void accepted.add(id),
    removeToken: async (id: string) => void accepted.delete(id),
  };
  const events = new SecurityEvents(
    (level, _scope, message) => lines.push(`${level} ${message}`),
    () => {},
  );
  const registry = new TokenRegistry(tokens, holders, events, {
    sign_in_days,
    sharing,
  });
  registry.start();
  onTestFinished(async () => {
    vi.useRealTimers();
    events.stop();
    await registry.stop();
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return { registry, store, tokens, accepted, lines };
}

/** Another registry on the same store, as after a restart. */
function registryOn(store: Store, sign_in_days: number): TokenRegistry {
  const holders = { addToken: async () => {}, removeToken: async () => {} };
  const events = new SecurityEvents(
    () => {},
    () => {},
  );
  const registry = new TokenRegistry(new TokenStore(store), holders, events, {
    sign_in_days,
  });
  registry.start();
  return registry;
}

afterEach(() => vi.restoreAllMocks());

it('a token expires within seconds when the clock has jumped past its time', async () => {
  const { registry, accepted } = await setUp();
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  const expires_at_ms = Date.now() + 3_600_000;
  const { info } = await registry.create({ name: 'x', scopes: ['read'], expires_at_ms }, 'nobody');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(accepted).toContain(info.id);
  // As after a suspend: the clock has advanced, the timers have not.
  vi.setSystemTime(expires_at_ms);
  await vi.advanceTimersByTimeAsync(5000);
  expect(accepted).not.toContain(info.id);
  expect(registry.list('')).toEqual([]);
});

it('a token that the disk fails to remove is invalid all the same, is retried, and can be revoked again', async () => {
  const { registry, tokens, accepted, lines } = await setUp();
  const make = async (name: string): Promise<string> =>
    (await registry.create({ name, scopes: ['read'] }, 'nobody')).info.id;
  const [first, second] = [await make('first'), await make('second')];
  const onDisk = (): string[] => tokens.all().map(({ id }) => id);
  // A full disk cannot be simulated here.
  const refusal = vi.spyOn(tokens, 'remove').mockRejectedValue(new Error('ENOSPC'));
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });

  for (const id of [first, second])
    await expect(registry.revoke(id, 'x')).rejects.toThrow('ENOSPC');
  expect(accepted).toEqual(new Set());
  expect(registry.list('')).toEqual([]);
  await expect(registry.revoke(first, 'x')).rejects.toThrow('ENOSPC');
  await vi.advanceTimersByTimeAsync(20_000);
  expect(onDisk().toSorted()).toEqual([first, second].toSorted());

  refusal.mockRestore();
  await registry.revoke(first, 'x');
  expect(onDisk()).toEqual([second]);
  await expect(registry.revoke(first, 'x')).rejects.toMatchObject({ code: 'not_found' });
  await vi.advanceTimersByTimeAsync(5000);
  vi.useRealTimers();
  await expect.poll(onDisk).toEqual([]);
  await expect.poll(() => lines.filter((line) => line.includes('was revoked')).length).toBe(2);
});

it('a failed removal is retried at shutdown', async () => {
  const { registry, tokens } = await setUp();
  const { info } = await registry.create({ name: 'x', scopes: ['read'] }, 'nobody');
  const refusal = vi.spyOn(tokens, 'remove').mockRejectedValueOnce(new Error('ENOSPC'));
  await expect(registry.revoke(info.id, 'x')).rejects.toThrow('ENOSPC');
  expect(tokens.all()).toHaveLength(1);
  await registry.stop();
  expect(refusal).toHaveBeenCalledTimes(2);
  expect(tokens.all()).toEqual([]);
});

it('a sign-in expires when it is unused for the configured days, and no other token does', async () => {
  const { registry, accepted } = await setUp(2);
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  const day = 86_400_000;
  const begin = Date.now();
  for (const client of ['a', 'b']) await registry.createForPin({ address: '192.0.2.1', client });
  const { info } = await registry.create({ name: 'x', scopes: ['read'] }, 'nobody');
  const [a, b] = registry.list('').map(({ id }) => id) as [string, string];
  const left = (): string[] => registry.list('').map(({ id }) => id);

  vi.setSystemTime(begin + day);
  registry.used({ [b]: { at_ms: begin + day, from: null } });
  expect(registry.list('').map(({ expires_at_ms }) => expires_at_ms)).toEqual([
    begin + 2 * day,
    begin + 3 * day,
    null,
  ]);
  vi.setSystemTime(begin + 2 * day);
  // A front that starts now does not get it, even before it is removed.
  expect(registry.all().map(({ id }) => id)).toEqual([b, info.id]);
  await vi.advanceTimersByTimeAsync(5000);
  vi.useRealTimers();
  await expect.poll(left).toEqual([b, info.id]);
  expect(accepted).not.toContain(a);

  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  vi.setSystemTime(begin + 400 * day);
  // The timer was set in real time.
  await registry.createForPin({ address: '192.0.2.1', client: null });
  vi.useRealTimers();
  await expect.poll(left).toEqual([info.id, expect.any(String)]);
});

const DAY_MS = 86_400_000;
const at = (at_ms: number): TokenUse => ({ at_ms, from: null });
/** A sign-in of another node. */
const theirs: TokenRecord = {
  id: 'theirs',
  digest: 'd'.repeat(44),
  name: 'pin',
  by_pin: true,
  scopes: ['admin'],
  reach: null,
  created_at_ms: 0,
  created_by: { how: 'pin', token: null, name: null, address: '192.0.2.1' },
  expires_at_ms: null,
};

/** Sets the clock, and has timers that are due soon run. */
async function jump(ms: number): Promise<void> {
  vi.setSystemTime(Date.now() + ms - 5000);
  await vi.advanceTimersByTimeAsync(5000);
}

/** Becomes part of a cluster. */
function join(registry: TokenRegistry) {
  const told: string[] = [];
  const sharing = {
    admit: async () => {},
    added: async () => {},
    removed: (id: string) => told.push(`removed ${id}`),
    used: (id: string) => told.push(`used ${id}`),
    isCurrent: true,
  };
  registry.share(sharing);
  return { told, sharing };
}

it('a token of another node is accepted, and is not on the disk; uses that are not news are not told', async () => {
  const { registry, tokens, accepted, lines } = await setUp();
  const { told } = join(registry);
  await registry.learn(theirs, null);
  expect(accepted).toEqual(new Set(['theirs']));
  expect(registry.all().map(({ id }) => id)).toEqual(['theirs']);
  expect(registry.own()).toEqual([]);
  expect(tokens.all()).toEqual([]);

  registry.usedElsewhere({ theirs: at(2000), unknown: at(1) });
  registry.used({ theirs: at(1000) });
  expect(registry.list('')).toMatchObject([{ last_used_at_ms: 2000 }]);
  registry.used({ theirs: at(3000) });
  expect(told).toEqual(['used theirs']);

  await registry.forget('theirs');
  expect(accepted).toEqual(new Set());
  expect(told).toEqual(['used theirs']);
  expect(lines.at(-1)).toContain('was removed on another node');
});

it('a sign-in of another node expires here a day late, and the others are not told', async () => {
  const { registry, accepted } = await setUp(2);
  const { told } = join(registry);
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: 10 * DAY_MS });
  // It is idle for three days: only its node knows all of its uses.
  await registry.learn({ ...theirs, created_at_ms: 0 }, at(7 * DAY_MS));
  expect(accepted).toEqual(new Set());
  await registry.learn(theirs, at(7 * DAY_MS + 60_000));
  expect(accepted).toEqual(new Set(['theirs']));
  expect(registry.list('')).toMatchObject([{ expires_at_ms: 9 * DAY_MS + 60_000 }]);
  // Its node keeps another use.
  await registry.learn(theirs, at(8 * DAY_MS));
  await jump(DAY_MS - 10_000);
  expect(accepted).toEqual(new Set(['theirs']));
  await jump(10_000);
  expect(accepted).toEqual(new Set());
  expect(told).toEqual([]);
});

it('a sign-in does not expire while this node cannot know whether another has used it', async () => {
  const { registry, accepted } = await setUp(2);
  const { told, sharing } = join(registry);
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  await registry.createForPin({ address: '192.0.2.1', client: null });
  const [{ id = '' } = {}] = registry.list('');
  sharing.isCurrent = false;
  await jump(3 * DAY_MS);
  expect(registry.all().map((token) => token.id)).toEqual([id]);
  registry.usedElsewhere({ [id]: at(Date.now() - DAY_MS) });
  sharing.isCurrent = true;
  await jump(DAY_MS - 10_000);
  expect(accepted).toContain(id);
  await jump(10_000);
  expect(accepted).not.toContain(id);
  expect(told).toEqual([`removed ${id}`]);
});

it('a sign-in from before sign-ins expired counts as used at the first start with that, and not at a later one', async () => {
  const { tokens, store } = await setUp();
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: 100 * DAY_MS });
  await tokens.put({ ...theirs, created_by: null });
  const start = (days: number): TokenRegistry => registryOn(store, days);
  const endsOf = (registry: TokenRegistry) =>
    registry.list('').map(({ expires_at_ms, last_used_at_ms }) => [expires_at_ms, last_used_at_ms]);
  const never = start(0);
  expect(endsOf(never)).toEqual([[null, null]]);
  await never.stop();
  const first = start(30);
  expect(endsOf(first)).toEqual([[130 * DAY_MS, null]]);
  await vi.waitFor(() => expect(tokens.all()[0]?.idle_from_ms).toBe(100 * DAY_MS), PATIENCE_MS);
  await first.stop();
  vi.setSystemTime(120 * DAY_MS);
  const second = start(30);
  expect(endsOf(second)).toEqual([[130 * DAY_MS, null]]);
  await second.stop();
});

it('the place of the last use is kept over a restart, also when a later use has none', async () => {
  const { tokens, store } = await setUp();
  const from = { address: '192.0.2.1', client: 'curl' };
  await tokens.put(theirs);
  await tokens.putUses(new Map([['theirs', { at_ms: 5, from }]]));
  const first = registryOn(store, 0);
  first.used({ theirs: at(6) });
  const shown = [{ last_used_at_ms: 6, last_used_from: from }];
  expect(first.list('')).toMatchObject(shown);
  await first.stop();
  const second = registryOn(store, 0);
  expect(second.list('')).toMatchObject(shown);
  await second.stop();
});

it('the other nodes are notified of a token that was made, replaced, revoked, or has expired', async () => {
  const { registry } = await setUp();
  const told: string[] = [];
  registry.share({
    admit: async () => {},
    added: async ({ name }) => void told.push(`added ${name}`),
    removed: (id) => told.push(`removed ${id}`),
    used: () => {},
    isCurrent: true,
  });
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  const expires_at_ms = Date.now() + 5000;
  const { info } = await registry.create({ name: 'x', scopes: ['read'], expires_at_ms }, 'nobody');
  await registry.revoke(info.id, 'nobody');
  const next = await registry.create({ name: 'y', scopes: ['read'], expires_at_ms }, 'nobody');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(told).toEqual(['added x', `removed ${info.id}`, 'added y', `removed ${next.info.id}`]);
});

it('a token that the cluster does not accept is not stored; a sign-in is good on this node', async () => {
  const { registry, tokens, accepted } = await setUp(0, NOT_SHARED_YET);
  const body = { name: 'x', scopes: ['read' as const] };
  const refused = {
    code: 'unavailable',
    message: 'the cluster does not accept the token: no NATS',
  };
  // It has not joined.
  await expect(registry.create(body, 'nobody')).rejects.toMatchObject({ code: 'unavailable' });
  const { sharing, told } = join(registry);
  const refuse = async (): Promise<void> => {
    throw new DroverError('unavailable', refused.message);
  };
  sharing.admit = refuse;
  await expect(registry.create(body, 'nobody')).rejects.toMatchObject(refused);
  expect(told).toEqual([]);
  sharing.admit = async () => {};
  // NATS has gone meanwhile.
  sharing.added = refuse;
  await expect(registry.create(body, 'nobody')).rejects.toMatchObject(refused);
  expect(told).toEqual([expect.stringMatching(/^removed /)]);
  expect([tokens.all(), accepted]).toEqual([[], new Set()]);
  await registry.createForPin({ address: '192.0.2.1', client: null });
  expect([tokens.all().length, accepted.size]).toEqual([1, 1]);
});
