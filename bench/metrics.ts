// The bench of GET /metrics: the cost of a response with 10,000 bots compared with 10.

import { createBots, ServiceHost } from './bots/hosts.js';
import { BOTS } from './bots/part.js';
import { ask } from './harness/ask.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  factorMetric,
  metricTable,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { median } from './harness/stats.js';
import { number, type Table, whole } from './harness/table.js';

const FEW = 10;
const MOST_TIMES = 1.25;

export const metrics: Bench = {
  name: 'metrics',
  about: 'GET /metrics with 10 and with 10,000 bots',
  run,
};

/** Medians of one round, in ms from the request to the last byte. */
interface Round {
  few: number;
  many: number;
  again: number;
}

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const rounds = options.rounds ?? (options.short ? 5 : 15);
  const answers = options.short ? 40 : 100;
  const hosts: ServiceHost[] = [];
  try {
    progress.step(`metrics: ${FEW} and ${whole(BOTS)} bots starting`);
    const few = await hostOf(FEW, hosts);
    const many = await hostOf(BOTS, hosts);
    const measured: Round[] = [];
    // Warm-up: the first responses load and compile code.
    for (const host of hosts) await timeOf(host, answers);
    for (let round = 1; round <= rounds; round++) {
      progress.step(`metrics: round ${round} of ${rounds}`);
      measured.push({
        few: await timeOf(few, answers),
        many: await timeOf(many, answers),
        again: await timeOf(few, answers),
      });
    }
    const first = measured.map((round) => round.few);
    const metric = factorMetric({
      id: `${BOTS}-bots`,
      subject: measured.map((round) => round.many),
      control: first,
      noise: { first, again: measured.map((round) => round.again) },
      target: { max: MOST_TIMES },
    });
    return {
      metrics: [metric],
      tables: [
        await tableOf(measured, few, many),
        metricTable(
          `metrics: ${whole(BOTS)} bots ÷ ${FEW} bots`,
          [metric],
          [
            'Factor compared with 10 bots. Noise floor: the service with 10 bots ÷ itself, in the same rounds.',
          ],
        ),
      ],
      measurements: measured,
    };
  } finally {
    for (const host of hosts) await host.stop();
  }
}

async function hostOf(bots: number, hosts: ServiceHost[]): Promise<ServiceHost> {
  const host = await ServiceHost.start();
  hosts.push(host);
  await createBots(host, 0, bots);
  await host.untilReady(bots);
  return host;
}

async function scrape({ server, drover }: ServiceHost): Promise<string> {
  return ask(server.url, '/metrics', { authorization: drover.authorization });
}

/** The median over this many requests, one at a time. */
async function timeOf(host: ServiceHost, answers: number): Promise<number> {
  const times: number[] = [];
  for (let answer = 0; answer < answers; answer++) {
    const from = performance.now();
    await scrape(host);
    times.push(performance.now() - from);
  }
  return median(times);
}

async function tableOf(measured: Round[], few: ServiceHost, many: ServiceHost): Promise<Table> {
  const row = async (name: string, host: ServiceHost, pick: (round: Round) => number) => {
    const bytes = Buffer.byteLength(await scrape(host));
    return [name, number(median(measured.map(pick))), whole(bytes)];
  };
  return {
    title: 'metrics: one answer, one request at a time',
    header: ['bots', 'ms', 'bytes'],
    rows: [
      await row(whole(FEW), few, (round) => round.few),
      await row(whole(BOTS), many, (round) => round.many),
    ],
    notes: [],
  };
}
