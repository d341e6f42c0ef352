// The copy of a real store, while changes come faster than copies.

import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { open } from 'lmdb';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { Store } from '../../../src/main/store/store.js';
import { PROGRAMS } from '../../../src/shared/package-paths.js';

let file: string;

beforeEach(() => {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  file = path.join(dir, 'store.mdb');
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

/** The keys in the copy. */
async function copied(): Promise<string[]> {
  const copy = open<string, string>({ path: `${file}.copy`, noSubdir: true, readOnly: true });
  const keys = [...copy.getKeys()];
  await copy.close();
  return keys;
}

it('there is one copy at a time, and a change during it is in the next', async () => {
  const store = await Store.open(file);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const backup = store.root.backup.bind(store.root);
  let under = 0;
  let most = 0;
  let copies = 0;
  let go = (): void => {};
  let begun = (): void => {};
  vi.spyOn(store.root, 'backup').mockImplementation(async (...args: Parameters<typeof backup>) => {
    most = Math.max(most, ++under);
    copies += 1;
    begun();
    // A large store, or a slow disk.
    await new Promise<void>((resolve) => {
      go = resolve;
    });
    await backup(...args);
    under -= 1;
  });
  const nextCopy = (): Promise<void> =>
    new Promise((resolve) => {
      begun = resolve;
    });
  const put = async (key: string): Promise<void> => {
    await store.root.put(key, key);
    store.changed();
  };

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
  await vi.waitFor(() => expect(existsSync(`${file}.copy`)).toBe(true));
  copying = nextCopy();
  await vi.waitFor(() => {
    vi.advanceTimersByTime(2000);
    expect(copies).toBe(2);
  });
  await put('d');
  const closed = store.close();
  go();
  // close() waits for the copy that is being written, then writes the last.
  await vi.waitFor(() => expect(copies).toBe(3));
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
  const backup = vi.spyOn(store.root, 'backup');
  // A file cannot replace a directory, not even for root.
  mkdirSync(`${file}.copy/in-the-way`, { recursive: true });
  await store.root.put('a', 'a');
  store.changed();
  const until = (tries: number): Promise<void> =>
    vi.waitFor(
      () => {
        vi.advanceTimersByTime(10_000);
        expect(backup.mock.calls.length).toBeGreaterThanOrEqual(tries);
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
  await store.root.put('a', 'a');
  await store.close();
  const { verifyStore } = PROGRAMS;
  PROGRAMS.verifyStore = '/nowhere/verify-store.js';
  onTestFinished(() => {
    PROGRAMS.verifyStore = verifyStore;
  });
  await expect(Store.open(file)).rejects.toThrow(/cannot be opened: it could not be checked: /);
  const again = open<string, string>({ path: file, noSubdir: true });
  expect(again.get('a')).toBe('a');
  await again.close();
});
