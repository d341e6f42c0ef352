// Test harness. Owns small file systems (tmpfs), which a test can fill. To mount one takes a right that not every user has.

import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, type TestContext } from 'vitest';
import { skipWithout } from './needs.js';

export interface SmallDisk {
  /** Fills it completely. */
  fill(): void;
  /** Makes room again. */
  empty(): void;
}

/** Mounts a small file system at `dir` until the test ends. Skips the test where the system does not permit it. */
export function mountSmallDisk(context: TestContext, dir: string, megabytes: number): SmallDisk {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  skipWithout(context, mount(dir, megabytes), 'the right to mount a tmpfs');
  // Also when a process still has a file open there, as after a test that failed.
  onTestFinished(() => void execFileSync('umount', ['--lazy', dir]));
  const filler = path.join(dir, 'filler');
  return {
    fill: () => fillUp(filler),
    empty: () => rmSync(filler),
  };
}

function mount(dir: string, megabytes: number): boolean {
  const options = `size=${megabytes}m,mode=700`;
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'drover-test', dir], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

function fillUp(file: string): void {
  for (const bytes of [64 * 1024, 1024]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(bytes), { flag: 'a' });
    } catch (thrown) {
      expect((thrown as NodeJS.ErrnoException).code).toBe('ENOSPC');
    }
  }
}
