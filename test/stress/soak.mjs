// Run by `npm run long -- soak`: the long form of soak.test.ts, with progress, a report, and exit code 0 when nothing grew.
//
//   npm run long -- soak --minutes 10 --engine uws

import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

let values;
try {
  ({ values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      engine: { type: 'string', default: 'auto' },
    },
  }));
  if (!(Number(values.minutes) > 0)) throw new Error('--minutes must be a number above 0');
  if (!['auto', 'uws', 'node'].includes(values.engine)) {
    throw new Error('--engine must be uws, node or auto');
  }
} catch (error) {
  process.stderr.write(`soak: ${error.message}\n`);
  process.exit(2);
}

process.env.SOAK_SECONDS = String(Number(values.minutes) * 60);
process.env.SOAK_PROGRESS = 'true';
process.env.TEST_ENGINE = values.engine;

const vitest = await startVitest('test', ['test/stress/soak.test.ts'], {
  watch: false,
  run: true,
  config: new URL('vitest.config.ts', import.meta.url).pathname,
});
const held = vitest.state.getFiles().every(({ result }) => result?.state === 'pass');
process.stderr.write(`soak: ${held ? 'level' : 'NOT level'}\n`);
await vitest.close();
process.exit(held ? 0 : 1);
