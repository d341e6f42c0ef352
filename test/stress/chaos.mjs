// Run by `npm run long -- chaos`: the long form of chaos.test.ts, with progress, a summary, and exit code 0 on success.
//
//   npm run long -- chaos --seed 7 --bots 200 --kills 50 --crashes 5

import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

const defaults = {
  seed: String(Date.now() % 1_000_000),
  bots: '200',
  kills: '50',
  crashes: '5',
};
const options = Object.fromEntries(
  Object.entries(defaults).map(([name, value]) => [name, { type: 'string', default: value }]),
);

let values;
try {
  ({ values } = parseArgs({ options }));
  for (const [name, value] of Object.entries(values)) {
    if (!/^\d+$/.test(value)) throw new Error(`--${name} must be a whole number`);
  }
  if (Number(values.bots) < 1) throw new Error('--bots must be at least 1');
  if (Number(values.kills) <= Number(values.crashes)) {
    throw new Error('--kills must be more than --crashes: the service is killed between them');
  }
} catch (error) {
  process.stderr.write(`chaos: ${error.message}\n`);
  process.exit(2);
}

for (const [name, value] of Object.entries(values)) {
  process.env[`CHAOS_${name.toUpperCase()}`] = value;
}
process.env.CHAOS_PROGRESS = 'true';

// A failed run is a finding, so it is not retried. `npm run long -- chaos --seed` repeats it.
const vitest = await startVitest('test', ['test/stress/chaos.test.ts'], {
  watch: false,
  run: true,
  config: new URL('vitest.config.ts', import.meta.url).pathname,
});
const held = vitest.state.getFiles().every(({ result }) => result?.state === 'pass');
process.stderr.write(`chaos ${held ? 'held' : 'FAILED'}, seed ${values.seed}\n`);
await vitest.close();
process.exit(held ? 0 : 1);
