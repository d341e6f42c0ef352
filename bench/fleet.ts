// The bench of fleet files: `drover apply` of 10,000 bots as a process, from the start of the command to its end.

import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ServiceHost } from './bots/hosts.js';
import { BOTS } from './bots/part.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  medianMetric,
  metricTable,
} from './harness/bench.js';
import { removeDirectory } from './harness/child.js';
import { SERVICE_SCRIPT } from './harness/paths.js';
import type { Progress } from './harness/progress.js';
import { whole } from './harness/table.js';

const run = promisify(execFile);

/** In seconds. */
const TARGETS = { create: 10, same: 2 };

export const fleet: Bench = {
  name: 'fleet',
  about: 'drover apply with 10,000 bots: to create them, and with nothing to change',
  run: bench,
};

async function bench(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const rounds = options.rounds ?? (options.short ? 1 : 5);
  const dir = mkdtempSync(join(tmpdir(), 'drover-bench-'));
  const entries = Array.from({ length: BOTS }, (_, n) => `  - {id: b-${n}, kind: bench-idle}\n`);
  const counted = fileOf(
    dir,
    'counted.yaml',
    `  - {id: "b-{n}", count: ${BOTS}, kind: bench-idle}\n`,
  );
  const listed = fileOf(dir, 'listed.yaml', entries.join(''));
  const seconds: Record<'create' | 'counted' | 'listed', number[]> = {
    create: [],
    counted: [],
    listed: [],
  };
  try {
    for (let round = 1; round <= rounds; round++) {
      progress.step(`fleet: round ${round} of ${rounds}`);
      // The numbers of the two files begin at 1 and at 0, so each has its own service.
      for (const [name, file] of [
        ['counted', counted],
        ['listed', listed],
      ] as const) {
        const host = await ServiceHost.start();
        try {
          seconds.create.push(await timeOf(host, file, `${BOTS} created`));
          seconds[name].push(await timeOf(host, file, `${BOTS} unchanged`));
        } finally {
          await host.stop();
        }
      }
    }
  } finally {
    removeDirectory(dir);
  }
  const metrics = [
    medianMetric('create', 's', seconds.create, { max: TARGETS.create }),
    medianMetric('same/counted', 's', seconds.counted, { max: TARGETS.same }),
    medianMetric('same/listed', 's', seconds.listed, { max: TARGETS.same }),
  ];
  const title = `fleet: drover apply with ${whole(BOTS)} bots (${rounds} rounds, a new service each)`;
  return { metrics, tables: [metricTable(title, metrics)], measurements: seconds };
}

function fileOf(dir: string, name: string, bots: string): string {
  const file = join(dir, name);
  writeFileSync(file, `name: bench\nbots:\n${bots}`);
  return file;
}

/** @throws Error for another outcome. */
async function timeOf(
  { server, token }: ServiceHost,
  file: string,
  outcome: string,
): Promise<number> {
  const began = performance.now();
  const { stdout } = await run(
    process.execPath,
    [fileURLToPath(SERVICE_SCRIPT), 'apply', file, '-y'],
    {
      env: { PATH: process.env['PATH'], DROVER_URL: server.url, DROVER_TOKEN: token },
    },
  );
  const took = (performance.now() - began) / 1000;
  if (!stdout.includes(outcome)) throw new Error(`drover apply printed ${JSON.stringify(stdout)}`);
  return took;
}
