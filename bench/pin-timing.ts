// The bench of the PIN comparison: its time must not reveal how many digits were right.

import { PinExchange } from '../src/front/access/pin-exchange.js';
import { createPinBucket, PinBucket } from '../src/shared/memory/pin-bucket.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  contenderTable,
  medianOf,
  metricTable,
  ratioMetric,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { type Contender, type Measurements, runRounds, series } from './harness/rounds.js';
import { median } from './harness/stats.js';
import { type Table, whole } from './harness/table.js';

const PIN = '493817';
const RIGHT = 'right';
const RIGHT_AGAIN = 'right again';
/** The guesses, by what they share with the PIN. */
const GUESSES: Readonly<Record<string, string>> = {
  [RIGHT]: PIN,
  [RIGHT_AGAIN]: PIN,
  'nothing right': '000000',
  'first 3 right': '493000',
  'first 5 right': '493810',
  'last 5 right': '093817',
};
/** A measurement is timed in pieces and takes their median, so that an interruption does not count. */
const PIECES = 100;
const FULL_CALLS = 2000;
const SHORT_CALLS = 500;

export const pinTiming: Bench = {
  name: 'pin-timing',
  about: 'time of the PIN comparison for right, nearly right and wrong PINs',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const rounds = options.rounds ?? (options.short ? 5 : 21);
  const calls = options.short ? SHORT_CALLS : FULL_CALLS;
  const exchange = new PinExchange(
    PIN,
    new PinBucket(createPinBucket({ capacity: 1, refillPerMinute: 1 })),
    () => {},
  );
  const contenders = Object.entries(GUESSES).map(([name, guess]) =>
    contender(name, exchange, guess, calls),
  );
  const measured = await runRounds('pin-timing', contenders, rounds, progress);
  const right = series(measured, RIGHT, (ns) => ns);
  const again = series(measured, RIGHT_AGAIN, (ns) => ns);
  const metrics = Object.keys(GUESSES)
    .filter((name) => name !== RIGHT && name !== RIGHT_AGAIN)
    .map((name) =>
      ratioMetric({
        id: name.replaceAll(' ', '-'),
        subject: series(measured, name, (ns) => ns),
        control: right,
        noise: { first: right, again },
        better: 'less',
      }),
    );
  return {
    metrics,
    tables: [
      tableOf(measured, rounds, calls),
      metricTable('pin-timing: time for the right PIN ÷ time for another', metrics, [
        '`no difference`: the right PIN differs from itself by as much.',
      ]),
    ],
    measurements: Object.fromEntries(measured),
  };
}

/** Measures ns per comparison. */
function contender(
  name: string,
  exchange: PinExchange,
  guess: string,
  calls: number,
): Contender<number> {
  const measure = async (): Promise<number> => {
    const pieces = Array.from({ length: PIECES }, () => {
      let right = 0;
      const began = process.hrtime.bigint();
      for (let call = 0; call < calls; call++) if (exchange.isRight(guess)) right += 1;
      const ns = Number(process.hrtime.bigint() - began) / calls;
      if (right !== (guess === PIN ? calls : 0)) throw new Error(`${guess} got a wrong result`);
      return ns;
    });
    return median(pieces);
  };
  return { name, warmUp: async () => void (await measure()), measure };
}

function tableOf(measured: Measurements<number>, rounds: number, calls: number): Table {
  return contenderTable(
    `pin-timing: ${whole(PIECES * calls)} comparisons each (${rounds} rounds)`,
    measured,
    [['ns/comparison', medianOf((ns) => ns, whole)]],
  );
}
