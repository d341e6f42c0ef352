// What a test needs from the machine. A missing tool fails the test. A missing right or system skips it, with the reason.

import { execFileSync } from 'node:child_process';
import type { TestContext } from 'vitest';

/** @throws Error with the name of the missing tool and of the Debian package that contains it. */
export function requireTool(name: string, debianPackage: string): void {
  try {
    execFileSync('sh', ['-c', 'command -v "$1"', 'sh', name], { stdio: 'ignore' });
  } catch {
    throw new Error(`${name} is missing: apt-get install ${debianPackage}`);
  }
}

/** Skips a test for a reason that `.ci/run` lists at its end: another system, or a right that this user lacks. */
export function skipWithout(context: TestContext, isThere: boolean, what: string): void {
  if (isThere) return;
  Object.assign(context.task.meta, { needs: what });
  context.skip(`needs ${what}`);
}
