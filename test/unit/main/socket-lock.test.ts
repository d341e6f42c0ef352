// The lock of a data directory on Linux: one holder at a time, regardless of what earlier ones left.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { lockDataDir } from '../../../src/main/environment/data-dir-lock.js';
import { LockSockets } from '../../../src/main/environment/socket-lock.js';
import { makeDir, removeDir } from '../../harness/service.js';

const IN_USE = `is in use by process ${process.pid};`;

let dir: string;
beforeEach((context) => {
  const base = makeDir();
  dir = base;
  context.onTestFinished(() => removeDir(base));
});

/** Takes the lock for this test. */
async function take(): Promise<() => void> {
  const release = await lockDataDir(dir);
  onTestFinished(release);
  return release;
}

const files = (): string[] => readdirSync(dir).sort();

describe.runIf(process.platform === 'linux')('the lock of a data directory', () => {
  it('is free again when its holder has ended, and leaves one file', async () => {
    for (const number of [1, 2, 3]) {
      const release = await take();
      expect(files()).toEqual([`lock.${number}`]);
      await expect(lockDataDir(dir)).rejects.toThrow(IN_USE);
      // The kernel closes the socket of a process that ends, and its file stays.
      release();
      expect(files()).toEqual([`lock.${number}`]);
    }
  });

  it('has one holder when many try at once, again and again after the last one has ended', async () => {
    for (let round = 0; round < 10; round++) {
      const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDir(dir)));
      const taken = tries.flatMap((tried) => (tried.status === 'fulfilled' ? [tried.value] : []));
      const refused = tries.flatMap((tried) => (tried.status === 'rejected' ? [tried.reason] : []));
      expect(taken).toHaveLength(1);
      expect(refused.map(String).filter((text) => !text.includes(IN_USE))).toEqual([]);
      taken[0]?.();
    }
  });

  it('is not given to a process that looked before others took it and ended', async () => {
    const sockets = new LockSockets(dir);
    onTestFinished(() => sockets.close());
    // Its number is free again, but a higher one says that it is late.
    writeFileSync(path.join(dir, 'lock.7'), '');
    expect(await sockets.claim(3)).toBeUndefined();
    expect(files()).toEqual(['lock.7']);
    await take();
    expect(files()).toEqual(['lock.8']);
    expect(await sockets.claim(7)).toBeUndefined();
    expect(await sockets.claim(8)).toBeUndefined();
    expect(files()).toEqual(['lock.8']);
    await expect(lockDataDir(dir)).rejects.toThrow(IN_USE);
  });

  it('is found in a directory with a long path, where what a killed process left is removed', async () => {
    dir = path.join(dir, 'long'.repeat(50));
    mkdirSync(dir);
    writeFileSync(path.join(dir, 'lock.0123456789abcdef.tmp'), '');
    writeFileSync(path.join(dir, 'lock.txt'), 'not of the lock');
    await take();
    expect(files()).toEqual(['lock.1', 'lock.txt']);
    await expect(lockDataDir(dir)).rejects.toThrow(IN_USE);
  });

  it('names the machine when the holder runs on another, or in another container', async () => {
    const other = createServer((socket) => socket.end('1 3f2a9c'));
    await new Promise<void>((resolve) => other.listen(path.join(dir, 'lock.4'), resolve));
    onTestFinished(() => void other.close());
    await expect(lockDataDir(dir)).rejects.toThrow('is in use by process 1 on 3f2a9c;');
  });

  it('is waited for while its holder ends: it does not answer, then it is gone', async () => {
    const ending = createServer((socket) => {
      socket.destroy();
      ending.close();
      // What closes a socket in Node removes its file, which a process that is killed leaves.
      rmSync(path.join(dir, 'lock.4'), { force: true });
    });
    await new Promise<void>((resolve) => ending.listen(path.join(dir, 'lock.4'), resolve));
    await take();
    expect(files()).toEqual(['lock.1']);
  });
});
