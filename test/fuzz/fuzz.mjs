// Run by `npm run fuzz`: the long form of fuzz.test.ts on both engines, and of cost.test.ts (what queries can cost), with progress, a summary, and exit code 0 on success.
//
//   npm run fuzz -- --seed 7 --cases 100000 --engine node

import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

const options = {
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  cases: { type: 'string', default: '100000' },
  // The projects of vitest.config.ts: uws is node:http too where no binary loads.
  engine: { type: 'string', default: 'uws,node' },
};

let values;
try {
  ({ values } = parseArgs({ options }));
  for (const name of ['seed', 'cases']) {
    if (!/^\d+$/.test(values[name])) throw new Error(`--${name} must be a whole number`);
  }
  if (!/^(uws|node)(,(uws|node))?$/.test(values.engine)) {
    throw new Error('--engine must be uws or node, or both with a comma between them');
  }
} catch (error) {
  process.stderr.write(`fuzz: ${error.message}\n`);
  process.exit(2);
}

process.env.FUZZ_SEED = values.seed;
process.env.FUZZ_CASES = values.cases;
process.env.FUZZ_PROGRESS = 'true';

// A failed run is a finding, so it is not retried. `npm run fuzz -- --seed` repeats it.
const files = ['test/fuzz/fuzz.test.ts', 'test/unit/shared/query/cost.test.ts'];
const vitest = await startVitest('test', files, {
  watch: false,
  run: true,
  retry: 0,
  fileParallelism: false,
  project: values.engine.split(','),
});
const ran = vitest.state.getFiles();
const held = ran.length > 0 && ran.every(({ result }) => result?.state === 'pass');
process.stderr.write(
  `fuzz ${held ? 'held' : 'FAILED'}: ${values.cases} cases on ${values.engine}, seed ${values.seed}\n`,
);
await vitest.close();
process.exit(held ? 0 : 1);
