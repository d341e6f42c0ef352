// Runs in main of the service that `drover bench` measures, before everything else. Owns that nothing of it is left when bench
// is gone: one that was killed hard ends no service itself. Its one argument is the data directory.

import { rmSync } from 'node:fs';

const [dir = ''] = process.argv.splice(2);
process.argv.push('start', '--host', '127.0.0.1', '--port', '0', '--no-demo', '--data-dir', dir);

function end(): void {
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  process.kill(process.pid, 'SIGTERM');
}

// With the signals in place.
await import('../stop-signals.js');
// The channel to bench, over which nothing goes: it closes with bench.
process.once('disconnect', end);
if (!process.connected) end();
await import('../command-line.js');
