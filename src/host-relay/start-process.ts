// Runs in the relay thread. Starts bot host processes, and makes the note that each leaves of what ran last.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, openSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { botEnvironment } from '../shared/bot-environment.js';
import type { HostStart } from '../shared/contract/threads.js';
import { ForkGate } from '../shared/memory/fork-gate.js';
import { WORKERS } from '../shared/package-paths.js';

/** What V8 lets the heap grow beyond the limit that main watches, in MB: above it Node ends the process, and says so. */
const HEADROOM_MB = 256;
/** Where files are memory, on Linux. */
const MEMORY_DIR = '/dev/shm';

const gate = ForkGate.ofProcess();

/** @throws Error when the system refuses it at once. */
export function startProcess({ maxHeapMb, env }: HostStart, note: number): ChildProcess {
  // A debugger's port is that of the service.
  const execArgv = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
  const flags = ['--expose-gc', `--max-old-space-size=${maxHeapMb + HEADROOM_MB}`];
  const entry = fileURLToPath(WORKERS.botProcess);
  // Of its Node; its bots do not get it.
  const { NODE_OPTIONS } = process.env;
  const options: SpawnOptions = {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe', note],
    // It leads its own group: a signal from the terminal is for the service, and the group can be ended as a whole.
    detached: true,
    env: {
      ...botEnvironment(process.env, env),
      ...(NODE_OPTIONS !== undefined && { NODE_OPTIONS }),
    },
  };
  return gate.start(() => spawn(process.execPath, [...execArgv, ...flags, entry], options));
}

/** A file in memory where there is such a place, without a name: it is gone with the last of the two that have it open. */
export function openNote(): number {
  const directory = existsSync(MEMORY_DIR) ? MEMORY_DIR : tmpdir();
  const path = join(directory, `drover-host-${randomBytes(8).toString('hex')}`);
  const note = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  return note;
}
