// What of a real LMDB file is mapped counts as resident, and not as the process's own.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { open } from 'lmdb';
import { expect, it, onTestFinished } from 'vitest';
import { anonymousRss } from '../../../src/shared/process-memory.js';
import { skipWithout } from '../../harness/needs.js';

const MB = 2 ** 20;
const FILE_MB = 64;

it('the pages of a mapped file are not our own', async (context) => {
  skipWithout(context, process.platform === 'linux', 'Linux');
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const options = { path: path.join(dir, 'data.mdb'), encoding: 'binary' as const };
  const writing = open<Buffer, number>(options);
  for (let n = 0; n < FILE_MB; n++) await writing.put(n, Buffer.alloc(MB, n));
  await writing.close();
  const db = open<Buffer, number>(options);
  const [resident, own] = [process.memoryUsage.rss(), anonymousRss()];
  for (let n = 0; n < FILE_MB; n++) expect(db.getBinaryFast(n)?.[5]).toBe(n);
  const grown = process.memoryUsage.rss() - resident;
  expect(grown).toBeGreaterThan((FILE_MB / 2) * MB);
  expect(anonymousRss() - own).toBeLessThan(grown - (FILE_MB / 2) * MB);
  await db.close();
});
