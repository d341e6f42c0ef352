// The PIN bucket of docs/INTERFACE.md §8, beside a bucket of plain numbers, and raced for by real threads.

import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PinExchange } from '../../../src/front/access/pin-exchange.js';
import { createPinBucket, PinBucket } from '../../../src/shared/memory/pin-bucket.js';

const SECOND = 1_000_000_000n;
const sizes = fc.record({
  capacity: fc.integer({ min: 1, max: 30 }),
  refillPerMinute: fc.constantFrom(1, 6, 12, 60, 600, 60_000),
});
const script = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant('take' as const) },
    { weight: 1, arbitrary: fc.constant('look' as const) },
    { weight: 1, arbitrary: fc.constant('take and give back' as const) },
    // How long nothing happens, in ns.
    { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 30n * SECOND }) },
  ),
  { maxLength: 150, size: 'max' },
);

/** A token bucket as a textbook has it; whole ns, so that there is no rounding. */
class ModelBucket {
  readonly interval: bigint;
  /** Tokens in units of 1/interval: one token is `interval` of them. */
  #level: bigint;
  readonly #full: bigint;

  constructor(capacity: number, refillPerMinute: number) {
    this.interval = (60n * SECOND) / BigInt(refillPerMinute);
    this.#full = this.interval * BigInt(capacity);
    this.#level = this.#full;
  }

  pass(ns: bigint): void {
    this.#level = this.#level + ns > this.#full ? this.#full : this.#level + ns;
  }

  /** Whole seconds, rounded up, until there is a token. */
  wait(): number {
    const missing = this.interval - this.#level;
    return missing <= 0n ? 0 : Number((missing + SECOND - 1n) / SECOND);
  }

  take(): number {
    const wait = this.wait();
    if (wait === 0) this.#level -= this.interval;
    return wait;
  }
}

describe('the bucket', () => {
  it('does what a textbook bucket does, at any time and for any size', () => {
    fc.assert(
      fc.property(sizes, fc.bigInt({ min: 0n, max: 1n << 60n }), script, (size, begin, steps) => {
        let now = begin;
        const bucket = new PinBucket(createPinBucket(size), () => now);
        const model = new ModelBucket(size.capacity, size.refillPerMinute);
        for (const step of steps) {
          if (step === 'take') expect(bucket.take()).toBe(model.take());
          else if (step === 'look') expect(bucket.lockedForS()).toBe(model.wait());
          else if (step === 'take and give back') {
            const wait = bucket.take();
            expect(wait).toBe(model.wait());
            if (wait === 0) bucket.giveBack();
          } else {
            now += step;
            model.pass(step);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('lets exactly its capacity through at once, and one more for each refill', () => {
    let now = 5n * SECOND;
    const shared = createPinBucket({ capacity: 12, refillPerMinute: 12 });
    const bucket = new PinBucket(shared, () => now);
    const burst = () => {
      let taken = 0;
      while (bucket.take() === 0) taken += 1;
      return taken;
    };
    expect(burst()).toBe(12);
    now += 5n * SECOND - 1n;
    expect(burst()).toBe(0);
    now += 1n;
    expect(burst()).toBe(1);
    now += 3600n * SECOND;
    expect(burst()).toBe(12);
  });

  it('says the true wait: as long as it says there is none, and after it there is one', () => {
    fc.assert(
      fc.property(sizes, fc.bigInt({ min: 0n, max: 60n * SECOND }), (size, later) => {
        let now = 1n;
        const bucket = new PinBucket(createPinBucket(size), () => now);
        while (bucket.take() === 0);
        now += later;
        const wait = bucket.lockedForS();
        // Looking takes nothing.
        expect(bucket.lockedForS()).toBe(wait);
        if (wait === 0) return;
        const seen = now;
        now = seen + BigInt(wait - 1) * SECOND;
        expect(bucket.lockedForS()).toBe(1);
        expect(bucket.take()).toBe(1);
        now = seen + BigInt(wait) * SECOND;
        expect(bucket.lockedForS()).toBe(0);
        expect(bucket.take()).toBe(0);
      }),
    );
  });

  it('is one for all threads that share it', () => {
    const shared = createPinBucket({ capacity: 3, refillPerMinute: 1 });
    const [one, other] = [new PinBucket(shared, () => 1n), new PinBucket(shared, () => 1n)];
    expect([one.take(), other.take(), one.take()]).toEqual([0, 0, 0]);
    expect(other.lockedForS()).toBe(60);
    expect(one.take()).toBe(60);
  });

  it('gives exactly 12 tokens to threads that race for them', async () => {
    const takenBy = await race(
      'shared/memory/pin-bucket',
      `let taken = 0;
       const bucket = new module.PinBucket(shared);
       meet();
       for (let attempt = 0; attempt < 20; attempt++) if (bucket.take() === 0) taken += 1;
       return taken;`,
    );
    expect(sums(takenBy)).toEqual(Array(ROUNDS).fill(12));
    // They did race: more than one thread had its share.
    expect(takenBy.filter((taken) => taken.some((count) => count > 0)).length).toBeGreaterThan(1);
  });
});

describe('the exchange', () => {
  it('compares exactly 12 PINs for fronts that race', async () => {
    const comparedBy = await race(
      'front/access/pin-exchange',
      `let compared = 0;
       class Counting extends module.PinExchange {
         isRight(pin) {
           compared += 1;
           return super.isRight(pin);
         }
       }
       const exchange = new Counting('123456', new PinBucket(shared), () => {});
       meet();
       for (let attempt = 0; attempt < 20; attempt++) {
         try { exchange.check('wrong', ''); } catch {}
       }
       return compared;`,
    );
    expect(sums(comparedBy)).toEqual(Array(ROUNDS).fill(12));
    expect(comparedBy.filter((counts) => counts.some((n) => n > 0)).length).toBeGreaterThan(1);
  });

  it('takes nothing for a right PIN, and refuses it while there is none', () => {
    const bucket = new PinBucket(createPinBucket({ capacity: 2, refillPerMinute: 1 }), () => 1n);
    const exchange = new PinExchange('123456', bucket, () => {});
    for (let n = 0; n < 10; n++) exchange.check('123456', '');
    for (let n = 0; n < 2; n++) expect(() => exchange.check('1', '')).toThrow('wrong pin');
    expect(() => exchange.check('123456', '')).toThrow('locked, retry in 60s');
  });
});

const THREADS = 4;
const ROUNDS = 200;

/**
 * Runs `round` in several threads at once, again and again, each time with a fresh bucket of 12.
 * @param round a function's body: it calls `meet()` when it is ready, and returns a number.
 * @returns by thread and round what it returned.
 */
async function race(name: string, round: string): Promise<number[][]> {
  const buckets = Array.from({ length: ROUNDS }, () =>
    createPinBucket({ capacity: 12, refillPerMinute: 1 }),
  );
  const gate = new SharedArrayBuffer(4 * ROUNDS);
  const built = (of: string) => new URL(`../../../dist/src/${of}.js`, import.meta.url).href;
  const urls = [built(name), built('shared/memory/pin-bucket')];
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { urls, buckets, gate, threads } = workerData;
    Promise.all(urls.map((url) => import(url))).then(([module, { PinBucket }]) => {
      const cells = new Int32Array(gate);
      parentPort.postMessage(buckets.map((shared, number) => {
        const meet = () => {
          Atomics.add(cells, number, 1);
          for (let looks = 0; ; looks++) {
            const there = Atomics.load(cells, number);
            if (there === threads) return;
            // Who waits for one that has no core leaves it its own; those that have one start in the same moment.
            if (looks >= 10_000) Atomics.wait(cells, number, there, 1);
          }
        };
        ${round}
      }));
    });`;
  return Promise.all(
    Array.from({ length: THREADS }, () => {
      const workerData = { urls, buckets, gate, threads: THREADS };
      const worker = new Worker(code, { eval: true, workerData });
      return new Promise<number[]>((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
    }),
  );
}

/** What all threads had together, by round. */
function sums(byThread: number[][]): number[] {
  return Array.from({ length: ROUNDS }, (_, round) =>
    byThread.reduce((sum, counts) => sum + (counts[round] as number), 0),
  );
}
