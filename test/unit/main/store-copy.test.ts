// The copy of a real store, while changes come faster than copies.

import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { open } from 'lmdb';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { Store } from '../../../src/main/store/store.js';
import { StoreFile } from '../../../src/main/store/store-file.js';
import { PROGRAMS } from '../../../src/shared/package-paths.js';
import { PATIENCE_MS } from '../../harness/patience.js';

let file: string;

beforeEach(() => {
  onTestFinished(() => void vi.restoreAllMocks());
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  file = path.join(dir, 'store.mdb');
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

async function keysIn(path: string): Promise<string[]> {
  const root = open({ path, noSubdir: true, readOnly: true });
  const keys = [...root.openDB<number, string>({ name: 'token_uses' }).getKeys()];
  await root.close();
  return keys;
}

/** The keys in the copy. */
async function copied(): Promise<string[]> {
  return keysIn(`${file}.copy`);
}

it('there is one copy at a time, and a change during it is in the next', async () => {
  const store = await Store.open(file);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { copyTo } = StoreFile.prototype;
  let under = 0;
  let most = 0;
  let copies = 0;
  let go = (): void => {};
  let begun = (): void => {};
  vi.spyOn(StoreFile.prototype, 'copyTo').mockImplementation(async function (this: StoreFile, to) {
    most = Math.max(most, ++under);
    copies += 1;
    begun();
    // A large store, or a slow disk.
    await new Promise<void>((resolve) => {
      go = resolve;
    });
    await copyTo.call(this, to);
    under -= 1;
  });
  const nextCopy = (): Promise<void> =>
    new Promise((resolve) => {
      begun = resolve;
    });
  const put = (key: string): Promise<void> => store.write([{ table: 'token_uses', key, value: 1 }]);

  let copying = nextCopy();
  await put('a');
  vi.advanceTimersByTime(2000);
  await copying;
  for (const key of ['b', 'c']) {
    await put(key);
    vi.advanceTimersByTime(10_000);
  }
  expect([copies, most]).toEqual([1, 1]);
  go();
  await vi.waitFor(() => expect(existsSync(`${file}.copy`)).toBe(true), PATIENCE_MS);
  copying = nextCopy();
  await vi.waitFor(() => {
    vi.advanceTimersByTime(2000);
    expect(copies).toBe(2);
  }, PATIENCE_MS);
  await put('d');
  const closed = store.close();
  go();
  // close() waits for the copy that is being written, then writes the last.
  await vi.waitFor(() => expect(copies).toBe(3), PATIENCE_MS);
  go();
  await closed;
  expect(most).toBe(1);
  expect(await copied()).toEqual(['a', 'b', 'c', 'd']);
});

it('a copy that fails is reported once, and retried without another change', async () => {
  const store = await Store.open(file);
  const told: string[] = [];
  store.report = (level, line) => told.push(`${level} ${line}`);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const copyTo = vi.spyOn(StoreFile.prototype, 'copyTo');
  // A file cannot replace a directory, not even for root.
  mkdirSync(`${file}.copy/in-the-way`, { recursive: true });
  await store.write([{ table: 'token_uses', key: 'a', value: 1 }]);
  const until = (tries: number): Promise<void> =>
    vi.waitFor(
      () => {
        vi.advanceTimersByTime(10_000);
        expect(copyTo.mock.calls.length).toBeGreaterThanOrEqual(tries);
      },
      { timeout: 20_000 },
    );
  await until(3);
  expect(told).toEqual([
    expect.stringMatching(/^error the store could not be copied to \S+\.copy: \S+/),
  ]);
  rmdirSync(`${file}.copy/in-the-way`);
  rmdirSync(`${file}.copy`);
  await vi.waitFor(
    () => {
      vi.advanceTimersByTime(10_000);
      expect(told).toHaveLength(2);
    },
    { timeout: 20_000 },
  );
  expect(told[1]).toBe('info the store is copied again');
  expect(await copied()).toEqual(['a']);
  await store.close();
});

it('a store that cannot be checked is not changed', async () => {
  const store = await Store.open(file);
  await store.write([{ table: 'token_uses', key: 'a', value: 1 }]);
  await store.close();
  const { verifyStore } = PROGRAMS;
  PROGRAMS.verifyStore = '/nowhere/verify-store.js';
  onTestFinished(() => {
    PROGRAMS.verifyStore = verifyStore;
  });
  await expect(Store.open(file)).rejects.toThrow(/cannot be opened: it could not be checked: /);
  expect(await keysIn(file)).toEqual(['a']);
});
