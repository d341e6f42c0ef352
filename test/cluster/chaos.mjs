// Run by `npm run long -- chaos-cluster`: the long form of chaos.test.ts, with progress, a summary, and exit code 0 on success.
//
//   npm run long -- chaos-cluster --minutes 10 --bots 40 --lease 12000 --seed 7

import { expectWhole, optionsOf, runFiles, setVariables, wholeNumbers } from '../long-form.mjs';

const seed = String(Date.now() % 1_000_000);
// The default of servers is as the installed version of NATS deserves (chaos.test.ts).
const options = wholeNumbers({
  seed,
  minutes: '10',
  bots: '40',
  lease: '12000',
  servers: undefined,
});
const values = optionsOf('chaos', options, (given) => {
  expectWhole(given);
  if (Number(given.bots) < 1) throw new Error('--bots must be at least 1');
});
setVariables('CHAOS', values);

const config = 'test/cluster/vitest.config.ts';
await runFiles(
  ['test/cluster/chaos.test.ts'],
  { project: ['cluster'], config },
  (held) => `chaos ${held ? 'held' : 'FAILED'}, seed ${values.seed}`,
);
