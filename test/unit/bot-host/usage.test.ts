// What each run uses, with an injected clock, and with the real one and the hook of the callbacks.

import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { type CurrentRun, runAsBot, watchRuns } from '../../../src/bot-host/current-bot.js';
import { UsageMeter } from '../../../src/bot-host/usage.js';
import type { Logger } from '../../../src/bot-sdk/index.js';
import { type RunUse, runUses, type UsageReport } from '../../../src/shared/contract/usage.js';
import type { ThreadTimes } from '../../../src/shared/thread-waits.js';

let now: number;
let idle: number;
let times: ThreadTimes | null;
let open: Map<number, number>;
let reports: UsageReport[];

beforeEach(() => {
  now = 5000;
  idle = 4000;
  times = null;
  open = new Map();
  reports = [];
});

const meter = (): UsageMeter =>
  new UsageMeter({
    report: (report) => reports.push(report),
    connections: () => open,
    times: () => times,
    now: () => now,
    idle: () => idle,
  });

/** Of all reports together, by run. */
function sums(): Record<number, Omit<RunUse, 'run'>> {
  const byRun: Record<number, Omit<RunUse, 'run'>> = {};
  for (const { run, ...use } of reports.flatMap(({ uses }) => [...runUses(uses)])) {
    byRun[run] ??= { cpuMs: 0, lines: 0, bytes: 0 };
    const sum = byRun[run];
    sum.cpuMs += use.cpuMs;
    sum.lines += use.lines;
    sum.bytes += use.bytes;
  }
  return byRun;
}

/** The loop has nothing to do for so long. */
function sleep(ms: number): void {
  now += ms;
  idle += ms;
}

it('the time of a callback is that of its run, the time between two callbacks nobody’s', () => {
  const usage = meter();
  for (let n = 0; n < 100; n++) {
    usage.change(1);
    now += 3;
    usage.change(2);
    now += 1;
    sleep(6);
    // Its next callback: the hook does not tell of a run that was the last one too.
    now += 0.5;
    usage.change(0);
    now += 0.5;
    sleep(9);
  }
  usage.end();
  expect(sums()[1]?.cpuMs).toBeCloseTo(300);
  expect(sums()[2]?.cpuMs).toBeCloseTo(150);
  expect(Object.keys(sums())).toEqual(['1', '2']);
});

it('many callbacks of a few microseconds each add up', () => {
  const usage = meter();
  for (let n = 0; n < 10_000; n++) {
    usage.change(1);
    now += 0.006;
    usage.change(2);
    now += 0.002;
  }
  usage.change(0);
  usage.end();
  expect(sums()[1]?.cpuMs).toBeCloseTo(60);
  expect(sums()[2]?.cpuMs).toBeCloseTo(20);
});

it('reports once a second while it ticks, and what is left when the thread falls asleep', () => {
  const usage = meter();
  for (let n = 0; n < 25; n++) {
    usage.change(1);
    now += 10;
    usage.wrote(1, 20);
    usage.wrote(7, 5);
    usage.change(0);
    sleep(90);
    usage.tick();
  }
  expect(reports).toHaveLength(2);
  usage.end();
  expect(reports).toHaveLength(3);
  expect(sums()).toEqual({
    1: { cpuMs: expect.closeTo(250), lines: 25, bytes: 500 },
    7: { cpuMs: 0, lines: 25, bytes: 125 },
  });
  // Nothing was used since: nothing to report.
  sleep(60_000);
  usage.tick();
  usage.end();
  expect(reports).toHaveLength(3);
});

it('a run that is in the middle of a long callback at a report keeps what follows', () => {
  const usage = meter();
  usage.change(1);
  now += 1500;
  usage.tick();
  now += 500;
  usage.change(0);
  usage.end();
  expect(reports.map(({ uses }) => uses[1])).toEqual([1500, 500]);
});

it('waits for a processor are nobody’s; a blocked thread is that of the bot that blocks it', () => {
  times = { ranMs: 100, waitedMs: 10 };
  const usage = meter();
  usage.change(1);
  now += 800;
  usage.change(2);
  now += 200;
  // Half of the time other processes had the processor.
  times = { ranMs: 600, waitedMs: 510 };
  usage.change(0);
  usage.end();
  expect(sums()).toMatchObject({ 1: { cpuMs: 400 }, 2: { cpuMs: 100 } });
  reports = [];
  usage.change(1);
  now += 1000;
  // Neither ran nor waited: a call that blocks.
  times = { ranMs: 601, waitedMs: 510 };
  usage.change(0);
  usage.end();
  expect(sums()).toMatchObject({ 1: { cpuMs: 1000 } });
});

it('counts connections every 5 s, when the thread falls asleep, and once when there are none any more', () => {
  const usage = meter();
  const use = (): void => {
    usage.change(1);
    now += 1;
    usage.change(0);
  };
  open = new Map([
    [1, 2],
    [3, 1],
  ]);
  for (let n = 0; n < 11; n++) {
    use();
    sleep(1000);
    usage.tick();
  }
  const counted = reports.flatMap(({ connections }, at) => (connections ? [at] : []));
  expect(counted).toEqual([0, 5, 10]);
  expect(reports[0]?.connections).toEqual([1, 2, 3, 1]);
  reports = [];
  open = new Map();
  for (let n = 0; n < 2; n++) {
    use();
    usage.end();
  }
  expect(reports.map(({ connections }) => connections)).toEqual([[], null]);
});

/** Real callbacks, as the hook tells of them. */
function watch(usage: UsageMeter): void {
  watchRuns(
    () => {},
    (run) => usage.change(run),
  );
}

const bot = (number: number): CurrentRun => ({
  id: `bot-${number}`,
  kind: { kind: 'k' },
  number,
  log: {} as Logger,
  fail: () => {},
  isGone: false,
});

it('with real callbacks: bots that spin beside others have the time that they have spun', async () => {
  const usage = meter();
  watch(usage);
  const live = async (turns: number, ms: number): Promise<void> => {
    for (let n = 0; n < turns; n++) {
      await delay(1);
      // The clock of the test: the time of the machine is also that of others.
      now += ms;
      await null;
      now += ms;
    }
  };
  const lives = [
    [1, 40, 0.5],
    [2, 20, 5],
    [3, 40, 1],
  ] as const;
  await Promise.all(
    lives.map(([number, turns, ms]) => runAsBot(bot(number), () => live(turns, ms))),
  );
  usage.end();
  expect(sums()).toMatchObject({
    1: { cpuMs: expect.closeTo(40) },
    2: { cpuMs: expect.closeTo(200) },
    3: { cpuMs: expect.closeTo(80) },
  });
});

it('with the real clock: a bot that mostly waits does not have the time in which the loop is idle', async () => {
  const usage = new UsageMeter({
    report: (report) => reports.push(report),
    connections: () => open,
    times: () => null,
  });
  watch(usage);
  const from = performance.now();
  await runAsBot(bot(1), async () => {
    for (let n = 0; n < 20; n++) await delay(20);
  });
  const passed = performance.now() - from;
  usage.end();
  expect(sums()[1]?.cpuMs).toBeGreaterThan(0);
  expect(sums()[1]?.cpuMs).toBeLessThan(passed / 2);
});
