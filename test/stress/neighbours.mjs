// Run by `npm run long -- neighbours`: the long form of neighbours-mixed.test.ts, or each case of neighbours.test.ts, with a table. Its exit
// code is 0 on success.
//
//   npm run long -- neighbours --minutes 10 --bots 200
//   npm run long -- neighbours --cases

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

let values;
try {
  ({ values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      bots: { type: 'string', default: '200' },
      cases: { type: 'boolean', default: false },
    },
  }));
  if (!(Number(values.minutes) > 0)) throw new Error('--minutes must be a number above 0');
  if (!/^[1-9]\d*$/.test(values.bots)) throw new Error('--bots must be a whole number from 1');
} catch (error) {
  process.stderr.write(`neighbours: ${error.message}\n`);
  process.exit(2);
}

const dir = mkdtempSync(join(tmpdir(), 'drover-neighbours-'));
const rows = join(dir, 'rows');
if (values.cases) process.env.NEIGHBOURS_CASES = rows;
else {
  process.env.NEIGHBOURS_SECONDS = String(Number(values.minutes) * 60);
  process.env.NEIGHBOURS_BOTS = values.bots;
  process.env.NEIGHBOURS_PROGRESS = 'true';
}

const test = values.cases ? 'neighbours.test.ts' : 'neighbours-mixed.test.ts';
const vitest = await startVitest('test', [`test/stress/${test}`], {
  watch: false,
  run: true,
  config: new URL('vitest.config.ts', import.meta.url).pathname,
});
const held = vitest.state.getFiles().every(({ result }) => result?.state === 'pass');
if (values.cases) printCases();
rmSync(dir, { recursive: true });
process.stderr.write(`neighbours: ${held ? 'held' : 'FAILED'}\n`);
await vitest.close();
process.exit(held ? 0 : 1);

function printCases() {
  process.stdout.write(
    '\n| case | longest silence, ms | /health p99, ms | restarts | incidents |\n| --- | --- | --- | --- | --- |\n',
  );
  for (const line of readFileSync(rows, 'utf8').trim().split('\n')) {
    const { name, silenceMs, healthMs, restarts, incidents } = JSON.parse(line);
    const told = incidents.join(', ') || 'none';
    process.stdout.write(
      `| ${name.replace(' > ', ': ')} | ${silenceMs} | ${healthMs} | ${restarts} | ${told} |\n`,
    );
  }
}
