// The programs bench: lines per second from a program that writes flat out into the ring.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { MESSAGE_BYTES } from './fanout/loads.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  contenderTable,
  medianMetric,
  medianOf,
  metricTable,
  planOf,
  type TimedPlan,
} from './harness/bench.js';
import { Drover } from './harness/drover.js';
import type { Progress } from './harness/progress.js';
import {
  type Contender,
  type Measurements,
  runRounds,
  series,
  timedContender,
} from './harness/rounds.js';
import { percent, type Table, whole } from './harness/table.js';
import { ringRate } from './streams/ring-rate.js';

const FULL: TimedPlan = { rounds: 7, seconds: 3, warmUpSeconds: 0.5 };
const SHORT: TimedPlan = { ...FULL, rounds: 3, seconds: 0.6 };

const PROGRAM = 'a program over raw';
const THREAD = 'a thread bot';
const PIPE = 'the pipe alone';
const LEAST_PER_S = 200_000;
/** More than a bot can send: it sends as much as it can. */
const FLAT_OUT = 10_000_000;
const LINE = 'x'.repeat(MESSAGE_BYTES);

interface Measurement {
  linesPerS: number;
  /** Lines skipped because too many bytes were in flight. */
  skippedPerS: number;
  cpuUsPerLine: number;
  serverCores: number;
}

export const programs: Bench = {
  name: 'programs',
  about: 'one program that writes flat out: lines a second into the ring',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  progress.step('programs: starting the service');
  const drover = await Drover.start('drover', {
    hosts: { count: 1, bot_lines_per_second: 0 },
    pressure: { max_cpu: 1 },
    programs: { flood: { command: ['yes', LINE], protocol: 'raw' } },
  });
  let bots = 0;
  const ofService = (name: string, kind: string, config: object): Contender<Measurement> =>
    timedContender(name, plan, (seconds) => {
      bots += 1;
      return measureBot(drover, `bot-${bots}`, kind, config, seconds);
    });
  try {
    const measured = await runRounds(
      'programs',
      [
        timedContender(PIPE, plan, measurePipe),
        ofService(PROGRAM, 'flood', {}),
        ofService(THREAD, 'synthetic', {
          events_per_second: FLAT_OUT,
          message_bytes: MESSAGE_BYTES,
        }),
      ],
      plan.rounds,
      progress,
    );
    const rates = series(measured, PROGRAM, (one) => one.linesPerS);
    const metrics = [medianMetric('raw', '/s', rates, { min: LEAST_PER_S })];
    return {
      metrics,
      tables: [
        tableOf(measured, plan),
        metricTable('programs: lines of one program into the ring', metrics, []),
      ],
      measurements: Object.fromEntries(measured),
    };
  } finally {
    await drover.stop();
  }
}

async function measureBot(
  drover: Drover,
  id: string,
  kind: string,
  config: object,
  seconds: number,
): Promise<Measurement> {
  const bot = {
    start: () => drover.createBot(id, kind, config),
    stop: () => drover.deleteBot(id),
  };
  const rate = await ringRate(drover, bot, async () => {
    await delay(seconds * 1000);
  });
  return {
    linesPerS: rate.perS,
    skippedPerS: rate.skippedPerS,
    cpuUsPerLine: rate.cpuUsPerEvent,
    serverCores: rate.use.cpuNs / rate.use.wallNs,
  };
}

/** Reads the same program in this process, which does nothing with its lines but cut them. */
async function measurePipe(seconds: number): Promise<Measurement> {
  const child = spawn('yes', [LINE], { stdio: ['ignore', 'pipe', 'ignore'] });
  const before = process.cpuUsage();
  const began = performance.now();
  let lines = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    lines += chunk.toString().split('\n').length - 1;
  });
  await delay(seconds * 1000);
  const lastedS = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(before);
  const closed = once(child, 'close');
  child.kill();
  await closed;
  return {
    linesPerS: lines / lastedS,
    skippedPerS: 0,
    cpuUsPerLine: (user + system) / lines,
    serverCores: (user + system) / 1e6 / lastedS,
  };
}

function tableOf(measured: Measurements<Measurement>, plan: TimedPlan): Table {
  return contenderTable(
    `programs: lines of ${MESSAGE_BYTES} bytes, flat out (${plan.rounds} rounds of ${plan.seconds} s)`,
    measured,
    [
      ['lines/s', medianOf((one) => one.linesPerS, whole)],
      ['skipped/s', medianOf((one) => one.skippedPerS, whole)],
      ['CPU µs/line', medianOf((one) => one.cpuUsPerLine)],
      ['CPU', medianOf((one) => one.serverCores, percent)],
    ],
    [
      'Lines in the ring are counted by the ids of two events. CPU is that of the reader, without the program.',
    ],
  );
}
