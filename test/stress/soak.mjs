// Run by `npm run long -- soak`: the long form of soak.test.ts, with progress, a report, and exit code 0 when nothing grew.
//
//   npm run long -- soak --minutes 10 --engine uws

import { optionsOf, runFiles, setVariables } from '../long-form.mjs';

const options = {
  minutes: { type: 'string', default: '10' },
  engine: { type: 'string', default: 'auto' },
};
const { minutes, engine } = optionsOf('soak', options, (given) => {
  if (!(Number(given.minutes) > 0)) throw new Error('--minutes must be a number above 0');
  if (!['auto', 'uws', 'node'].includes(given.engine)) {
    throw new Error('--engine must be uws, node or auto');
  }
});
setVariables('SOAK', { seconds: String(Number(minutes) * 60) });
process.env.TEST_ENGINE = engine;

const config = 'test/stress/vitest.config.ts';
await runFiles(
  ['test/stress/soak.test.ts'],
  { config },
  (held) => `soak: ${held ? 'level' : 'NOT level'}`,
);
