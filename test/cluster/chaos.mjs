// Run by `npm run long -- chaos-cluster`: the long form of chaos.test.ts, with progress, a summary, and exit code 0 on success.
//
//   npm run long -- chaos-cluster --minutes 10 --bots 40 --lease 12000 --seed 7

import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

const defaults = {
  seed: String(Date.now() % 1_000_000),
  minutes: '10',
  bots: '40',
  lease: '12000',
};
const options = {
  ...Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, { type: 'string', default: value }]),
  ),
  // Default: as the installed version of NATS deserves (chaos.test.ts).
  servers: { type: 'string' },
};

let values;
try {
  ({ values } = parseArgs({ options }));
  for (const [name, value] of Object.entries(values)) {
    if (!/^\d+$/.test(value)) throw new Error(`--${name} must be a whole number`);
    if (name === 'bots' && Number(value) < 1) throw new Error(`--${name} must be at least 1`);
  }
} catch (error) {
  process.stderr.write(`chaos: ${error.message}\n`);
  process.exit(2);
}

for (const [name, value] of Object.entries(values)) {
  process.env[`CHAOS_${name.toUpperCase()}`] = value;
}
process.env.CHAOS_PROGRESS = 'true';

// A failed run is a finding, so it is not retried. `npm run long -- chaos-cluster --seed` repeats it.
const vitest = await startVitest('test', ['test/cluster/chaos.test.ts'], {
  watch: false,
  run: true,
  project: ['cluster'],
  config: new URL('vitest.config.ts', import.meta.url).pathname,
});
const files = vitest.state.getFiles();
const held = files.length > 0 && files.every(({ result }) => result?.state === 'pass');
process.stderr.write(`chaos ${held ? 'held' : 'FAILED'}, seed ${values.seed}\n`);
await vitest.close();
process.exit(held ? 0 : 1);
