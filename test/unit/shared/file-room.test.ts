// Room on the disk for commits of LMDB. What happens when there is none is tested with a full disk (test/stress/full-disk.test.ts).

import { statSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { FileRoom } from '../../../src/shared/lmdb/file-room.js';
import { open } from '../../../src/shared/lmdb/lmdb.js';
import { makeDir, removeDir } from '../../harness/service.js';

it('makes the file longer when a commit needs it, and LMDB uses that', async () => {
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const file = path.join(dir, 'room.mdb');
  const size = () => statSync(file).size;
  const openFile = () => {
    const root = open({ path: file, noSubdir: true });
    return { root, room: new FileRoom(file, root) };
  };
  let { root, room } = openFile();
  const table = root.openDB<string, string>({ name: 'table' });
  const value = 'x'.repeat(300_000);

  room.reserve(400_000);
  const reserved = size();
  expect(reserved).toBeGreaterThanOrEqual(400_000);
  expect(statSync(file).blocks * 512).toBeGreaterThanOrEqual(400_000);
  room.reserve(100_000);
  await room.reserveSoon(200_000);
  expect(size()).toBe(reserved);

  await table.put('first', value);
  expect(size()).toBe(reserved);
  await room.reserveSoon(400_000);
  expect(size()).toBeGreaterThanOrEqual(700_000);
  await table.put('second', value);
  await root.close();
  room.close();

  ({ root, room } = openFile());
  expect([...root.openDB<string, string>({ name: 'table' }).getRange()]).toEqual([
    { key: 'first', value },
    { key: 'second', value },
  ]);
  await root.close();
  room.close();
});
