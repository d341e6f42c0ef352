// Started by benches as a separate process: the service, which ends with the bench even when the bench is killed. A service
// that kept making load would spoil every later measurement.

process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
await import('../../src/cli/main.js');
