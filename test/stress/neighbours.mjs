// Run by `npm run neighbours`: the long form of neighbours-mixed.test.ts, with a table, and exit code 0 on success.
//
//   npm run neighbours -- --minutes 10 --bots 200

import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

let values;
try {
  ({ values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      bots: { type: 'string', default: '200' },
    },
  }));
  if (!(Number(values.minutes) > 0)) throw new Error('--minutes must be a number above 0');
  if (!/^[1-9]\d*$/.test(values.bots)) throw new Error('--bots must be a whole number from 1');
} catch (error) {
  process.stderr.write(`neighbours: ${error.message}\n`);
  process.exit(2);
}

process.env.NEIGHBOURS_SECONDS = String(Number(values.minutes) * 60);
process.env.NEIGHBOURS_BOTS = values.bots;
process.env.NEIGHBOURS_PROGRESS = 'true';

const vitest = await startVitest('test', ['test/stress/neighbours-mixed.test.ts'], {
  watch: false,
  run: true,
  config: new URL('vitest.config.ts', import.meta.url).pathname,
});
const held = vitest.state.getFiles().every(({ result }) => result?.state === 'pass');
process.stderr.write(`neighbours: ${held ? 'held' : 'FAILED'}\n`);
await vitest.close();
process.exit(held ? 0 : 1);
