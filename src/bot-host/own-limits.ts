// Runs in a bot host process, before the code of any bot. Puts the process under the limits of the system.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SystemLimits } from '../shared/pipe/messages.js';
import { dataSize } from '../shared/process-memory.js';

/** How long `prlimit` may take, in ms. */
const PRLIMIT_MS = 5000;

/** Applies the limits to this process and to what it starts from now on. @throws Error when they cannot be set. */
export function limitOwnProcess({ cgroup, memoryBytes, byData }: SystemLimits): void {
  const isOutside = cgroup !== null && !joinGroup(cgroup);
  if (byData || isOutside) limitData(memoryBytes);
}

function joinGroup(cgroup: string): boolean {
  try {
    // 0 stands for the process that writes.
    writeFileSync(join(cgroup, 'cgroup.procs'), '0');
    return true;
  } catch {
    return false;
  }
}

/**
 * RLIMIT_DATA bounds what the process can write to without sharing it, whether it has touched that or not: setrlimit(2). V8's
 * reservations do not count before they are used; the stacks of its threads do, as a whole.
 */
function limitData(bytes: number): void {
  const limit = dataSize() + bytes;
  const { error, status, stderr } = spawnSync(
    'prlimit',
    ['--pid', `${process.pid}`, `--data=${limit}:${limit}`],
    { timeout: PRLIMIT_MS, encoding: 'utf8' },
  );
  if (error) throw error;
  if (status !== 0) throw new Error(stderr.trim() || `prlimit exited with code ${status}`);
}
