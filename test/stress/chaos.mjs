// Run by `npm run long -- chaos`: the long form of chaos.test.ts, with progress, a summary, and exit code 0 on success.
//
//   npm run long -- chaos --seed 7 --bots 200 --kills 50 --crashes 5

import { expectWhole, optionsOf, runFiles, setVariables, wholeNumbers } from '../long-form.mjs';

const seed = String(Date.now() % 1_000_000);
const options = wholeNumbers({ seed, bots: '200', kills: '50', crashes: '5' });
const values = optionsOf('chaos', options, (given) => {
  expectWhole(given);
  if (Number(given.bots) < 1) throw new Error('--bots must be at least 1');
  if (Number(given.kills) <= Number(given.crashes)) {
    throw new Error('--kills must be more than --crashes: the service is killed between them');
  }
});
setVariables('CHAOS', values);

const config = 'test/stress/vitest.config.ts';
await runFiles(
  ['test/stress/chaos.test.ts'],
  { config },
  (held) => `chaos ${held ? 'held' : 'FAILED'}, seed ${values.seed}`,
);
