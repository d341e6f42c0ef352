// Runs in main of a node of `drover cluster try`. When that command ends, even by SIGKILL, it stops the node and deletes its data.

import { rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TryNodeOptions } from './try-options.js';

const [text = ''] = process.argv.splice(2);
const { port, dir } = JSON.parse(text) as TryNodeOptions;
process.argv.push('start', '--host', '127.0.0.1', '--port', String(port), '--data-dir', dir);

function removeData(): void {
  rmSync(dir, { recursive: true, force: true });
  try {
    rmdirSync(dirname(dir));
  } catch {
    // Others still have their data there; the last one succeeds.
  }
}

function end(): void {
  process.once('exit', removeData);
  process.kill(process.pid, 'SIGTERM');
}

// Signal handlers first: end() sends SIGTERM.
await import('../stop-signals.js');
// The IPC channel carries no messages; it closes when the command exits.
process.once('disconnect', end);
if (!process.connected) end();
const { createProgram } = await import('../command-line.js');
await createProgram().parseAsync();
