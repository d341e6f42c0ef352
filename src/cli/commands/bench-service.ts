// Runs in main of the service that `drover bench` measures. When bench exits, even by SIGKILL, it stops the service and deletes
// its data directory, the only argument.

import { rmSync } from 'node:fs';

const [dir = ''] = process.argv.splice(2);
process.argv.push('start', '--host', '127.0.0.1', '--port', '0', '--no-demo', '--data-dir', dir);

function end(): void {
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  process.kill(process.pid, 'SIGTERM');
}

// Signal handlers first: end() sends SIGTERM.
await import('../stop-signals.js');
// The IPC channel carries no messages; it closes when bench exits.
process.once('disconnect', end);
if (!process.connected) end();
const { createProgram } = await import('../command-line.js');
await createProgram().parseAsync();
