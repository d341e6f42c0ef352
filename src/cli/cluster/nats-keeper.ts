// Runs in a process of `drover cluster try`, which keeps the NATS server: a server cannot notice that the command is gone. When the
// command ends, even by SIGKILL, it stops the server and deletes its data; of servers that it did not start, the streams.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { removeCluster } from './remove-cluster.js';
import type { KeeperMessage, KeeperOptions } from './try-options.js';

/** Nodes whose command was killed stop within this time. Until then they would create the streams again. */
const NODES_STOP_MS = 10_000;
const INSTALL =
  'install it (apt install nats-server, brew install nats-server, https://nats.io/download), give its path with --nats-server, or the addresses of running servers with --servers';

const { name, program, servers, dir } = JSON.parse(process.argv[2] ?? '') as KeeperOptions;
let server: ChildProcess | undefined;

// The command alone decides: a Ctrl-C, or a terminal that closes, must not end the server before the nodes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
  process.on(signal, () => {});
}
process.once('disconnect', () => void end(true));
process.on('message', () => void end(false));
if (program === null) say({ servers, pid: null });
else start(program);

function start(file: string): void {
  const args = ['-js', '-sd', dir, '-a', '127.0.0.1', '-p', '-1'];
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  server = child;
  let port = '';
  let last = '';
  child.once('error', ({ message, code }: NodeJS.ErrnoException) => {
    server = undefined;
    const why = code === 'ENOENT' ? 'was not found' : `does not start: ${message}`;
    say({ error: `${file} ${why}; ${INSTALL}` });
  });
  createInterface(child.stderr).on('line', (line) => {
    last = line;
    port = /Listening for client connections on \S+:(\d+)/.exec(line)?.[1] ?? port;
    if (line.includes('Server is ready'))
      say({ servers: [`nats://127.0.0.1:${port}`], pid: child.pid ?? null });
  });
  child.once('exit', () => {
    if (process.connected) say({ error: `the NATS server has ended: ${last}` });
    removeData();
    process.exit();
  });
}

/** @param isKilled the command is gone, and the nodes are just stopping. */
async function end(isKilled: boolean): Promise<void> {
  if (isKilled) process.removeAllListeners('message');
  if (isKilled) await delay(server ? 0 : NODES_STOP_MS);
  if (server) {
    // Nothing of it is kept.
    server.kill('SIGKILL');
    await once(server, 'exit');
  } else if (program === null) await removeCluster(servers, name).catch(() => {});
  removeData();
  process.exit();
}

function removeData(): void {
  rmSync(dir, { recursive: true, force: true });
  try {
    rmdirSync(dirname(dir));
  } catch {
    // Nodes still have their data there; the last one succeeds.
  }
}

function say(message: KeeperMessage): void {
  if (process.connected) process.send?.(message);
}
