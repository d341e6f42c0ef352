// The service as a child process that ends with the bench, even if the bench is killed: a leftover service under load would
// distort every later measurement.

process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
await import('../../src/cli/main.js');
