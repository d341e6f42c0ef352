// The lock file of an LMDB file, which must not be a hole when LMDB maps it. The files are real ones.

import { closeSync, mkdtempSync, openSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { open } from 'lmdb';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { lockFileOf, reserveLockFile } from '../../../src/shared/lmdb/lock-file.js';

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'drover-lock-'));
  file = path.join(dir, 'a.mdb');
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

function expectReal(): number {
  const { size, blocks } = statSync(lockFileOf(file));
  expect(blocks * 512).toBeGreaterThanOrEqual(size);
  return size;
}

it('has its place on the disk, and LMDB makes it no larger', async () => {
  reserveLockFile(file);
  const size = expectReal();
  const root = open({ path: file, noSubdir: true });
  await root.put('a', 1);
  expect(expectReal()).toBe(size);
  // Once more beside those who use it.
  reserveLockFile(file);
  await root.put('b', 2);
  await root.close();
  const again = open({ path: file, noSubdir: true });
  expect([again.get('a'), again.get('b')]).toEqual([1, 2]);
  await again.close();
});

it('one that is a hole is filled', () => {
  closeSync(openSync(lockFileOf(file), 'w'));
  truncateSync(lockFileOf(file), 20_000);
  expect(statSync(lockFileOf(file)).blocks).toBe(0);
  reserveLockFile(file);
  expect(expectReal()).toBe(20_000);
});
