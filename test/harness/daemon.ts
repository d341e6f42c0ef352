// Test harness. Owns a daemon from the system's packages: its process and its directory.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeDir } from './service.js';

const START_LIMIT_MS = 15_000;
const STOP_LIMIT_MS = 5000;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export interface DaemonOptions {
  command: string;
  /** The Debian package that contains it. */
  package: string;
  /** Files by name, written to the daemon's own directory. */
  files: Record<string, string>;
  args(dir: string): string[];
  /** Its output once it is ready. */
  ready: RegExp;
  /** The user of a daemon that is started as root. */
  user?: { uid: number; gid: number };
}

export interface Daemon {
  output(): string;
  /** Resolves when its output matches. */
  printed(what: RegExp): Promise<void>;
  stop(): Promise<void>;
}

export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-daemon-'));
  // Daemons that start as root drop their privileges, but still read and write here.
  chmodSync(dir, 0o777);
  for (const [name, text] of Object.entries(options.files)) {
    writeFileSync(path.join(dir, name), text.replaceAll('@DIR@', dir));
  }
  const child = spawn(options.command, options.args(dir), {
    // Debian installs daemons outside the users' path.
    env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` },
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: dir,
    ...options.user,
  });
  running.add(child);
  let output = '';
  const wakes = new Set<() => void>();
  const wake = (): void => {
    for (const check of wakes) check();
  };
  let failure: string | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      wake();
    });
  }
  child.on('error', (error: NodeJS.ErrnoException) => {
    failure =
      error.code === 'ENOENT'
        ? `${options.command} is not installed; on Debian: apt-get install ${options.package}`
        : error.message;
    wake();
  });
  const closed = once(child, 'close').catch(() => {});
  child.once('close', () => {
    running.delete(child);
    failure ??= `${options.command} has ended`;
    wake();
  });

  const printed = (what: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        wakes.delete(check);
        finish();
      };
      const check = (): void => {
        if (what.test(output)) settle(resolve);
        else if (failure) settle(() => reject(new Error(`${failure}\n${output}`)));
      };
      const timer = setTimeout(() => {
        settle(() => reject(new Error(`${options.command} did not print ${what}:\n${output}`)));
      }, START_LIMIT_MS);
      wakes.add(check);
      check();
    });

  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null) {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      await closed;
      clearTimeout(timer);
    }
    removeDir(dir);
  };
  try {
    await printed(options.ready);
  } catch (error) {
    await stop();
    throw error;
  }
  return { output: () => output, printed, stop };
}
