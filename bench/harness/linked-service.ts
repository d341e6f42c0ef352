// The service as a child process that ends with the bench, even if the bench is killed: a leftover service under load would
// distort every later measurement.

process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// Values of src/shared/contract/fixed.ts that a bench replaces come first, as JSON.
const isFixed = process.argv[2]?.startsWith('{') ?? false;
await import(isFixed ? '../../../test/harness/fixed-service.mjs' : '../../src/cli/main.js');
