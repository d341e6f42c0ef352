// Expiry with a clock that jumps, and removal with a disk that fails: a running service does not show these.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { SecurityEvents } from '../../../src/main/access/security-events.js';
import { TokenRegistry } from '../../../src/main/access/token-registry.js';
import { Store } from '../../../src/main/store/store.js';
import { TokenStore } from '../../../src/main/store/token-store.js';

interface Setup {
  registry: TokenRegistry;
  tokens: TokenStore;
  /** Ids that the fronts accept. */
  accepted: Set<string>;
  lines: string[];
}

/** A registry on a real store, with fake fronts. */
async function setUp(pin_idle_days: number | null = null): Promise<Setup> {
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
  const registry = new TokenRegistry(tokens, () => holders, events, { pin_idle_days });
  registry.start();
  onTestFinished(async () => {
    vi.useRealTimers();
    events.stop();
    await registry.stop();
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return { registry, tokens, accepted, lines };
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

it('a token from the PIN expires when it is unused for the configured days, and no other does', async () => {
  const { registry, accepted } = await setUp(2);
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  const day = 86_400_000;
  const begin = Date.now();
  for (const client of ['a', 'b']) await registry.createForPin('192.0.2.1', client);
  const { info } = await registry.create({ name: 'x', scopes: ['read'] }, 'nobody');
  const [a, b] = registry.list('').map(({ id }) => id) as [string, string];
  const left = (): string[] => registry.list('').map(({ id }) => id);

  vi.setSystemTime(begin + day);
  registry.used({ [b]: begin + day });
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
  await registry.createForPin('192.0.2.1', null);
  vi.useRealTimers();
  await expect.poll(left).toEqual([info.id, expect.any(String)]);
});

it('a token of another node is accepted, is not on the disk, and is not removed because it is idle', async () => {
  const { registry, tokens, accepted, lines } = await setUp(1);
  const removed: string[] = [];
  const uses: string[] = [];
  registry.share({
    added: () => {},
    removed: (id) => removed.push(id),
    used: (id) => uses.push(id),
  });
  const digest = 'd'.repeat(44);
  const old = { created_at_ms: Date.now() - 30 * 86_400_000, expires_at_ms: null };
  const record = { id: 'theirs', digest, name: 'pin', by_pin: true, reach: null, ...old };
  await registry.learn({ ...record, scopes: ['admin'] });
  expect(accepted).toEqual(new Set(['theirs']));
  expect(registry.all().map(({ id }) => id)).toEqual(['theirs']);
  expect(registry.own()).toEqual([]);
  expect(tokens.all()).toEqual([]);

  registry.usedElsewhere({ theirs: 2000, unknown: 1 });
  registry.used({ theirs: 1000 });
  expect(registry.list('')).toMatchObject([{ last_used_at_ms: 2000 }]);
  registry.used({ theirs: 3000 });
  expect(uses).toEqual(['theirs']);

  await registry.forget('theirs');
  expect(accepted).toEqual(new Set());
  expect(removed).toEqual([]);
  expect(lines.at(-1)).toContain('was removed on another node');
});

it('the other nodes are notified of a token that was made, replaced, revoked, or has expired', async () => {
  const { registry } = await setUp();
  const told: string[] = [];
  registry.share({
    added: ({ name }) => told.push(`added ${name}`),
    removed: (id) => told.push(`removed ${id}`),
    used: () => {},
  });
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  const expires_at_ms = Date.now() + 5000;
  const { info } = await registry.create({ name: 'x', scopes: ['read'], expires_at_ms }, 'nobody');
  await registry.revoke(info.id, 'nobody');
  const next = await registry.create({ name: 'y', scopes: ['read'], expires_at_ms }, 'nobody');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(told).toEqual(['added x', `removed ${info.id}`, 'added y', `removed ${next.info.id}`]);
});
