// Started by benches as a process of its own: the service, which ends with the bench even when that is killed.
// A service that goes on making load would spoil every measurement after it.

process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
await import('../../src/cli/main.js');
