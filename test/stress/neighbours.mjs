// Run by `npm run long -- neighbours`: the long form of neighbours-mixed.test.ts, or each case of neighbours.test.ts, with a table. Its exit
// code is 0 on success.
//
//   npm run long -- neighbours --minutes 10 --bots 200
//   npm run long -- neighbours --cases

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { optionsOf, runFiles, setVariables } from '../long-form.mjs';

const options = {
  minutes: { type: 'string', default: '10' },
  bots: { type: 'string', default: '200' },
  cases: { type: 'boolean', default: false },
};
const { minutes, bots, cases } = optionsOf('neighbours', options, (given) => {
  if (!(Number(given.minutes) > 0)) throw new Error('--minutes must be a number above 0');
  if (!/^[1-9]\d*$/.test(given.bots)) throw new Error('--bots must be a whole number from 1');
});

const dir = mkdtempSync(join(tmpdir(), 'drover-neighbours-'));
const rows = join(dir, 'rows');
if (cases) process.env.NEIGHBOURS_CASES = rows;
else setVariables('NEIGHBOURS', { seconds: String(Number(minutes) * 60), bots });

const file = cases ? 'neighbours.test.ts' : 'neighbours-mixed.test.ts';
const config = 'test/stress/vitest.config.ts';
await runFiles([`test/stress/${file}`], { config }, (held) => {
  if (cases) printCases();
  rmSync(dir, { recursive: true });
  return `neighbours: ${held ? 'held' : 'FAILED'}`;
});

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
