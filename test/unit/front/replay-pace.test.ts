// How much replays may write, and when. The clock is the test's.

import { expect, it } from 'vitest';
import { ReplayPace, type StreamCounts } from '../../../src/front/stream/replay-pace.js';

interface World extends StreamCounts {
  /** Bytes of a write, and how long it takes, in ms. */
  bytes: number;
  writeMs: number;
  /** How much later a timer fires than it should, in ms. */
  lateMs?: number;
}

/** Replays that always have more to write, for `forMs`. */
function run({ live, replaying, bytes, writeMs, lateMs = 0 }: World, forMs = 2000) {
  const pace = new ReplayPace();
  const counts = { live, replaying };
  const turns: { beganMs: number; tookMs: number; restedMs: number }[] = [];
  let now = 0;
  let written = 0;
  while (now < forMs) {
    const rest = pace.wait(now);
    const restedMs = rest === 0 ? 0 : rest + lateMs;
    now += restedMs;
    const beganMs = now;
    pace.begin(now, counts);
    do {
      written += bytes;
      pace.wrote(bytes);
      now += writeMs;
    } while (!pace.isOver(now));
    pace.end(now, counts);
    turns.push({ beganMs, tookMs: now - beganMs, restedMs });
    // A turn of the event loop takes time too.
    now += 0.01;
  }
  return { turns, bytesPerMs: written / now };
}

const BUDGET = 76 * 1024;

it('without live streams a turn lasts 1 ms, and the next follows in the next turn of the event loop', () => {
  const { turns } = run({ live: 0, replaying: 3, bytes: 16_000, writeMs: 0.01 });
  for (const { tookMs, restedMs } of turns) {
    expect(tookMs).toBeCloseTo(1, 1);
    expect(restedMs).toBe(0);
  }
});

it.each([
  ['small writes', 16_000, 0.01, 0],
  ['large writes', 262_144, 0.05, 0],
  ['a thread that runs late', 16_000, 0.01, 2.5],
  ['large writes in a thread that runs late', 262_144, 0.1, 1.5],
])('beside live streams a few replays share the budget: %s', (_, bytes, writeMs, lateMs) => {
  for (const replaying of [1, 4, 19]) {
    const { turns, bytesPerMs } = run({ live: 20, replaying, bytes, writeMs, lateMs });
    expect(bytesPerMs / BUDGET).toBeGreaterThan(0.97);
    expect(bytesPerMs / BUDGET).toBeLessThan(1.03);
    // Evenly: what was missed comes in pieces.
    for (const { tookMs } of turns) expect(tookMs).toBeLessThan(1.2);
  }
});

it('a late turn makes up for a few ms, not for a pause', () => {
  const pace = new ReplayPace();
  const counts = { live: 1, replaying: 1 };
  pace.begin(0, counts);
  pace.end(0.1, counts);
  pace.begin(5000, counts);
  let written = 0;
  for (; !pace.isOver(5000); written += 1000) pace.wrote(1000);
  expect(written / BUDGET).toBeLessThan(9);
});

it('a search counts by its time, where that is more than its bytes', () => {
  const counts = { live: 20, replaying: 1 };
  const share = (searchMs: number, bytes: number): number => {
    const pace = new ReplayPace();
    let now = 0;
    let searched = 0;
    while (now < 2000) {
      now += pace.wait(now);
      pace.begin(now, counts);
      pace.wrote(bytes);
      now += 0.01;
      pace.end(now, counts);
      // The answer to the next request.
      now += searchMs;
      searched += searchMs;
      pace.searched(searchMs, bytes);
    }
    return searched / now;
  };
  // 4 ms without a find: a fourth of the time.
  expect(share(4, 0)).toBeGreaterThan(0.23);
  expect(share(4, 0)).toBeLessThan(0.27);
  expect(share(0.1, 0)).toBeLessThan(0.27);
  // What finds a lot is limited by its bytes, whether it is searched for or not.
  expect(share(0.5, 262_144)).toBeCloseTo((0.5 * BUDGET) / 262_144, 1);
});

it('a crowd gets more, and rests at least as long as it works', () => {
  const { bytesPerMs } = run({ live: 1000, replaying: 300, bytes: 16_000, writeMs: 0.002 });
  expect(bytesPerMs / (300 * 4096)).toBeGreaterThan(0.97);
  expect(bytesPerMs / (300 * 4096)).toBeLessThan(1.03);
  // Where the writes take longer than the budget allows for.
  const { turns } = run({ live: 1000, replaying: 300, bytes: 16_000, writeMs: 0.2 });
  const worked = turns.reduce((sum, { tookMs }) => sum + tookMs, 0);
  const rested = turns.reduce((sum, { restedMs }) => sum + restedMs, 0);
  expect(rested).toBeGreaterThan(0.9 * worked);
});

it('when most streams replay, these do not rest for the others', () => {
  const { turns } = run({ live: 100, replaying: 900, bytes: 16_000, writeMs: 0.02 });
  const rested = turns.reduce((sum, { restedMs }) => sum + restedMs, 0);
  expect(rested).toBe(0);
  // But live streams run after each ms.
  for (const { tookMs } of turns) expect(tookMs).toBeLessThan(1.1);
});
