// The bots bench: bots per host, memory per bot, start rate, round trips of /invoke and the list of bots, beside a control that
// hosts bots without a service.

import { runCrowd } from './bots/crowds.js';
import { BARE, SUBJECT } from './bots/hosts.js';
import type { Plan } from './bots/part.js';
import { runRequests } from './bots/requests.js';
import { type Bench, type BenchOptions, type BenchResult, metricTable } from './harness/bench.js';
import { LoadProcess } from './harness/load.js';
import { benchScript } from './harness/paths.js';
import type { Progress } from './harness/progress.js';
import type { Load } from './http/measurement.js';

const FULL: Plan = {
  rounds: 7,
  seconds: 1.5,
  warmUpSeconds: 1,
  crowdRounds: 5,
  idleMs: 5_000,
};
const SHORT: Plan = {
  rounds: 3,
  seconds: 0.4,
  warmUpSeconds: 0.4,
  crowdRounds: 1,
  idleMs: 2_000,
};

export const bots: Bench = {
  name: 'bots',
  about: '10,000 bots on one host: memory, start rate, /invoke and the list of bots',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const form = options.short ? SHORT : FULL;
  const { rounds = form.rounds, rounds: crowdRounds = form.crowdRounds } = options;
  const plan = { ...form, rounds, crowdRounds };
  const load: Load = await LoadProcess.start('autocannon', benchScript('load/autocannon.js'));
  try {
    const parts = [await runCrowd(plan, progress), await runRequests(plan, load, progress)];
    const metrics = parts.flatMap((part) => part.metrics);
    const summary = metricTable(`bots: ${SUBJECT} beside ${BARE}`, metrics, [
      `…/${BARE}: above 1 ${SUBJECT} is the better one: less memory, CPU or time, more starts or round trips.`,
      'Noise floor: the control ÷ itself, two processes, measured in the same rounds.',
    ]);
    return {
      metrics,
      tables: [...parts.flatMap((part) => part.tables), summary],
      measurements: Object.assign({}, ...parts.map((part) => part.measurements)),
    };
  } finally {
    await load.stop();
  }
}
