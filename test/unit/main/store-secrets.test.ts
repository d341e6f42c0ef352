// What a deleted bot's configuration contained is in no file of the store soon after, neither in free pages nor in gaps of pages.

import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { BotStore } from '../../../src/main/store/bot-store.js';
import { Store } from '../../../src/main/store/store.js';
import type { BotSpec } from '../../../src/shared/contract/bots.js';
import { PROGRAMS } from '../../../src/shared/package-paths.js';
import { PATIENCE_MS } from '../../harness/patience.js';

// The check of an existing store is a separate program, which exists only in the build.
PROGRAMS.verifyStore = fileURLToPath(
  new URL('../../../dist/src/programs/verify-store.js', import.meta.url),
);

let dir: string;
let file: string;

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  file = path.join(dir, 'store.mdb');
  onTestFinished(() => {
    vi.useRealTimers();
    rmSync(dir, { recursive: true, force: true });
  });
});

const specOf = (id: string, password: string): BotSpec => ({
  id,
  kind: 'k',
  config: { password },
  labels: {},
  desired: 'running',
  restart: {
    policy: 'always',
    max_restarts: 5,
    window_ms: 60_000,
    backoff_ms: 0,
    backoff_cap_ms: 0,
    healthy_ms: 5000,
  },
  dedicated: false,
});

/** The files of the directory that contain the text. */
const filesWith = (text: string): string[] =>
  readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isFile() && readFileSync(path.join(dir, entry.name)).includes(text))
    .map(({ name }) => name);

/** A part of a page, and several pages. */
const SIZES = [20, 500, 10_000];
const secretOf = (n: number): string => `secret-${n}-`.padEnd(SIZES[n % SIZES.length] ?? 0, `${n}`);

it('a password that was replaced, or whose bot was deleted', async () => {
  const store = await Store.open(file);
  const bots = new BotStore(store);
  const numbers = Array.from({ length: 30 }, (_, n) => n);
  await Promise.all(numbers.map((n) => bots.put(specOf(`bot-${n}`, secretOf(n)))));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const gone = [3, 4, 5, 11, 13, 15];
  expect(gone.flatMap((n) => filesWith(secretOf(n)))).toHaveLength(gone.length);
  await Promise.all(gone.slice(3).map((n) => bots.put(specOf(`bot-${n}`, 'another'))));
  await Promise.all(gone.slice(0, 3).map((n) => bots.remove(`bot-${n}`)));
  await vi.waitFor(
    () => {
      vi.advanceTimersByTime(2000);
      expect(gone.flatMap((n) => filesWith(secretOf(n)))).toEqual([]);
    },
    { timeout: PATIENCE_MS },
  );
  // All others are there, and changes are stored as before.
  await bots.put(specOf('bot-30', secretOf(30)));
  const kept = bots.all().map(({ id, config }) => [id, config['password']]);
  await store.close();
  expect(await reopened()).toEqual(kept);
  expect(kept).toHaveLength(numbers.length - 3 + 1);
  expect(filesWith(secretOf(30))).toEqual(['store.mdb', 'store.mdb.copy']);
  expect(gone.flatMap((n) => filesWith(secretOf(n)))).toEqual([]);
});

it('changes that come while the file is rewritten are stored', async () => {
  const store = await Store.open(file);
  const bots = new BotStore(store);
  await bots.put(specOf('first', 'secret-of-first'));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await bots.remove('first');
  vi.advanceTimersByTime(2000);
  const names = Array.from({ length: 30 }, (_, n) => `bot-${n}`);
  for (const name of names) {
    const written = bots.put(specOf(name, 'p'));
    expect(Array.isArray(bots.all())).toBe(true);
    await written;
  }
  expect(filesWith('secret-of-first')).toEqual([]);
  await store.close();
  expect((await reopened()).map(([id]) => id)).toEqual(names.toSorted());
});

it('what a run left that was killed is removed by the next', async () => {
  const store = await Store.open(file);
  const bots = new BotStore(store);
  await bots.put(specOf('a', 'secret-of-a'));
  // Its timer does not fire: as after a crash.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await bots.remove('a');
  expect(filesWith('secret-of-a')).toEqual(['store.mdb']);
  const left = mkdtempSync(path.join(dir, 'left-'));
  const next = path.join(left, 'store.mdb');
  copyFileSync(file, next);
  const again = await Store.open(next);
  await again.close();
  expect(readFileSync(next).includes('secret-of-a')).toBe(false);
  await store.close();
});

async function reopened(): Promise<unknown[][]> {
  const store = await Store.open(file);
  const found = new BotStore(store).all().map(({ id, config }) => [id, config['password']]);
  await store.close();
  return found;
}
