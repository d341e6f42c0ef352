// Run by vitest. The arithmetic of the benches: a wrong metric would look like any other.

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeBound, type Metric, meets, ratioMetric } from '../../../bench/harness/bench.js';
import { brokenGuards, parseGuards } from '../../../bench/harness/guards.js';
import { LatencyHistogram } from '../../../bench/harness/latency-histogram.js';
import {
  type CpuSample,
  cpuBetween,
  parseKilobytes,
  parseTicks,
  sampleCpu,
  sampleMemory,
} from '../../../bench/harness/os-accounting.js';
import { type Contender, orderOfRound, runRounds, series } from '../../../bench/harness/rounds.js';
import {
  exceedsNoise,
  lineThrough,
  meanOfPairs,
  median,
  percentile,
  ratioSummary,
  summarize,
} from '../../../bench/harness/stats.js';
import { renderTable } from '../../../bench/harness/table.js';
import { BENCHES } from '../../../bench/registry.js';
import { skipWithout } from '../../harness/needs.js';

const SILENT = { step: () => {}, note: () => {}, done: () => {} };
const values = fc.array(fc.double({ min: 1e-3, max: 1e6, noNaN: true }), { minLength: 1 });

describe('median and percentiles', () => {
  it('takes the middle, or the mean of the two in the middle, and leaves the input as it was', () => {
    const input = [3, 1, 2];
    expect(median(input)).toBe(2);
    expect(input).toEqual([3, 1, 2]);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([7])).toBe(7);
  });

  it('compares numbers, not their text', () => {
    expect(median([9, 10, 100])).toBe(10);
  });

  it('interpolates between ranks and clamps', () => {
    expect(percentile([0, 10], 25)).toBe(2.5);
    expect(percentile([1, 2, 3, 4, 5], 0)).toBe(1);
    expect(percentile([1, 2, 3, 4, 5], 100)).toBe(5);
    expect(percentile([1, 2], 200)).toBe(2);
  });

  it('never leaves the range of the values, and grows with the percentage', () => {
    fc.assert(
      fc.property(values, fc.nat(100), fc.nat(100), (list, one, other) => {
        const low = percentile(list, Math.min(one, other));
        const high = percentile(list, Math.max(one, other));
        const { min, max } = summarize(list);
        expect(low).toBeGreaterThanOrEqual(min);
        expect(high).toBeLessThanOrEqual(max);
        expect(low - high).toBeLessThanOrEqual(1e-9 * max);
      }),
    );
  });

  it('makes up no metric from nothing', () => {
    expect(() => median([])).toThrow('there are no measurements');
    expect(() => median([1, Number.NaN])).toThrow('not a finite number');
    expect(() => summarize([Number.POSITIVE_INFINITY])).toThrow('not a finite number');
  });
});

describe('a line through points', () => {
  it('finds the line that they are on, and says how well it fits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1000, max: 1000 }),
        fc.integer({ min: -1000, max: 1000 }),
        fc.uniqueArray(fc.integer({ min: 0, max: 20_000 }), { minLength: 2, maxLength: 10 }),
        (slope, intercept, all) => {
          const line = lineThrough(all.map((x) => [x, slope * x + intercept]));
          expect(line.slope).toBeCloseTo(slope, 5);
          expect(line.intercept).toBeCloseTo(intercept, 3);
          expect(line.fit).toBeCloseTo(1, 5);
        },
      ),
    );
    const line = lineThrough([
      [0, 0],
      [1, 3],
      [2, 0],
    ]);
    expect(line).toEqual({ slope: 0, intercept: 1, fit: 0 });
  });

  it('makes up no line', () => {
    expect(() => lineThrough([[1, 2]])).toThrow('no line goes through these points');
    expect(() =>
      lineThrough([
        [1, 2],
        [2, Number.NaN],
      ]),
    ).toThrow('no line goes through these points');
  });
});

describe('ratios', () => {
  it('are taken round by round, so that a slow round cancels out', () => {
    const control = [10, 30, 10];
    const subject = [20, 60, 20];
    expect(ratioSummary(control, subject)).toEqual({
      median: 0.5,
      min: 0.5,
      max: 0.5,
      ratios: [0.5, 0.5, 0.5],
    });
  });

  it('are the median of the ratios, not the ratio of the medians', () => {
    expect(ratioSummary([1, 10, 100], [10, 10, 10]).median).toBe(1);
    expect(ratioSummary([1, 10, 100], [100, 1, 10]).median).toBe(10);
  });

  it('refuse series that do not pair, and zero', () => {
    expect(() => ratioSummary([1, 2], [1])).toThrow('cannot be paired');
    expect(() => ratioSummary([], [])).toThrow('no measurements');
    expect(() => ratioSummary([1, 1], [1, 0])).toThrow('no ratio of 1 and 0 in round 2');
    expect(() => ratioSummary([0], [1])).toThrow('no ratio of 0 and 1');
    expect(() => meanOfPairs([1, 2], [1])).toThrow('cannot be paired');
  });

  it('turn over when the sides are swapped', () => {
    fc.assert(
      fc.property(values, (list) => {
        const other = list.toReversed();
        const there = ratioSummary(list, other);
        const back = ratioSummary(other, list);
        expect(there.max * back.min).toBeCloseTo(1, 6);
      }),
    );
  });

  it('show a difference only beyond the noise floor, in either direction', () => {
    const noise = { median: 1, min: 0.95, max: 1.02 };
    expect(exceedsNoise({ median: 0.96, min: 0, max: 2 }, noise)).toBe(false);
    expect(exceedsNoise({ median: 1.04, min: 0, max: 2 }, noise)).toBe(false);
    expect(exceedsNoise({ median: 0.9, min: 0, max: 2 }, noise)).toBe(true);
    expect(exceedsNoise({ median: 1.1, min: 0, max: 2 }, noise)).toBe(true);
  });
});

describe('metrics', () => {
  const noise = { first: [10, 10], again: [10, 20] };

  it('are above 1 for the better subject, whichever way the measure goes', () => {
    const parts = { id: 'f', subject: [5, 5], control: [10, 10], noise };
    expect(ratioMetric({ ...parts, better: 'less' }).value).toBe(2);
    expect(ratioMetric({ ...parts, better: 'more' }).value).toBe(0.5);
  });

  it('stand beside the mean of a control that was measured twice', () => {
    const metric = ratioMetric({
      id: 'f',
      subject: [5, 5],
      control: noise.first,
      noise,
      better: 'less',
    });
    expect(metric.spread).toMatchObject({ ratios: [2, 3] });
    expect(metric.noise).toMatchObject({ ratios: [1, 0.5] });
  });

  it('are checked against their bounds, edges included', () => {
    expect(meets(0.9, { min: 0.9 })).toBe(true);
    expect(meets(0.89, { min: 0.9 })).toBe(false);
    expect(meets(5, { max: 5 })).toBe(true);
    expect(meets(5.1, { min: 1, max: 5 })).toBe(false);
    expect(describeBound({ min: 0.9, max: 2 })).toBe('≥ 0.9, ≤ 2');
  });
});

describe('guards', () => {
  const metrics: Metric[] = [{ id: 'a', value: 0.8, unit: 'x' }];

  it('name the metric that is out of its bounds', () => {
    expect(brokenGuards('http', metrics, { http: { a: { min: 0.9 } } })).toEqual([
      'http: a is 0.8 x, its guard is ≥ 0.9',
    ]);
    expect(brokenGuards('http', metrics, { http: { a: { min: 0.8 } } })).toEqual([]);
    expect(brokenGuards('fanout', metrics, { http: { a: { min: 0.9 } } })).toEqual([]);
  });

  it('do not pass when their metric is gone', () => {
    expect(brokenGuards('http', metrics, { http: { b: { min: 0 } } })).toEqual([
      'http: b has a guard but was not measured',
    ]);
  });

  it('are read strictly', () => {
    expect(parseGuards('{"http":{"a":{"min":0.5,"max":2}}}')).toEqual({
      http: { a: { min: 0.5, max: 2 } },
    });
    expect(() => parseGuards('{"http":{"a":{"minimum":1}}}')).toThrow('http: a');
    expect(() => parseGuards('{"http":{"a":{"min":"1"}}}')).toThrow('http: a');
    expect(() => parseGuards('{"http":{"a":{}}}')).toThrow('neither');
    expect(() => parseGuards('[]')).toThrow('must be an object');
  });

  it('in guards.json are readable and name benches that exist', () => {
    const guards = parseGuards(readFileSync('bench/guards.json', 'utf8'));
    const names = BENCHES.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(guards)));
  });
});

describe('rounds', () => {
  it('go back the way they came', () => {
    const order = [0, 1, 2].map((round) => orderOfRound(['A', 'B', 'C'], round).join(''));
    expect(order).toEqual(['ABC', 'CBA', 'ABC']);
  });

  it('warm up everyone first and count none of it', async () => {
    const calls: string[] = [];
    const contender = (name: string): Contender<number> => ({
      name,
      warmUp: async () => {
        calls.push(`warm ${name}`);
      },
      measure: async () => calls.push(name),
    });
    const measured = await runRounds('test', [contender('A'), contender('B')], 2, SILENT);
    expect(calls).toEqual(['warm A', 'warm B', 'A', 'B', 'B', 'A']);
    expect(series(measured, 'A', (one) => one)).toEqual([3, 6]);
    expect(series(measured, 'B', (one) => one)).toEqual([4, 5]);
    expect(() => series(measured, 'C', (one) => one)).toThrow('C was not measured');
  });

  it('end at the first measurement that is not right', async () => {
    const broken: Contender<number> = {
      name: 'A',
      warmUp: async () => {},
      measure: () => Promise.reject(new Error('wrong answer')),
    };
    await expect(runRounds('test', [broken], 3, SILENT)).rejects.toThrow('wrong answer');
  });
});

describe('latency histogram', () => {
  it('gives percentiles to within a bucket', () => {
    const histogram = new LatencyHistogram();
    for (let us = 1; us <= 100_000; us += 1) histogram.record(us / 1000);
    expect(histogram.count).toBe(100_000);
    expect(histogram.percentileMs(50)).toBeCloseTo(50, 1);
    expect(histogram.percentileMs(99)).toBeCloseTo(99, 1);
    expect(histogram.percentileMs(100)).toBe(100);
    expect(histogram.maxMs).toBe(100);
  });

  it('counts long ones by the millisecond and the longest exactly', () => {
    const histogram = new LatencyHistogram();
    for (const ms of [0, 150.4, 1_000.2, 60_000]) histogram.record(ms);
    expect(histogram.percentileMs(50)).toBe(151);
    expect(histogram.percentileMs(75)).toBe(1_001);
    expect(histogram.percentileMs(99)).toBe(60_000);
  });

  it('has no percentile of nothing', () => {
    expect(new LatencyHistogram().percentileMs(99)).toBeNaN();
  });
});

describe('accounting of the operating system', () => {
  const sample = (ticks: number, threads: Record<string, [number, number]>, atNs = 0n) =>
    ({
      atNs,
      ticks,
      threads: new Map(
        Object.entries(threads).map(([tid, [ranNs, waitedNs]]) => [tid, { ranNs, waitedNs }]),
      ),
    }) satisfies CpuSample;

  it('finds the times behind a process name with spaces and parentheses', () => {
    expect(parseTicks('7 (a) (b c) R 1 1 1 0 -1 0 0 0 0 0 120 34 5 6 20 0 1 0 99')).toBe(154);
  });

  it('adds up the nanoseconds of threads, new ones from zero', () => {
    const from = sample(100, { 1: [5e9, 1e6] }, 0n);
    const to = sample(150, { 1: [5.4e9, 3e6], 2: [0.1e9, 7e6] }, 1_000_000_000n);
    expect(cpuBetween(from, to, 100)).toEqual({ cpuNs: 0.5e9, wallNs: 1e9, waitedNs: 7e6 });
  });

  it('goes by the ticks when a thread ended and took its nanoseconds with it', () => {
    const from = sample(100, { 1: [1e9, 0], 2: [4e9, 0] });
    const to = sample(200, { 1: [1.2e9, 0] });
    expect(cpuBetween(from, to, 100).cpuNs).toBe(1e9);
  });

  it('goes by the ticks where threads have no metrics', () => {
    expect(cpuBetween(sample(10, {}), sample(12, {}), 100).cpuNs).toBe(2e7);
  });

  it('agrees with what a process knows of itself', (context) => {
    skipWithout(context, process.platform === 'linux', 'Linux');
    const from = sampleCpu(process.pid);
    const own = process.cpuUsage();
    while (process.cpuUsage(own).user < 100_000);
    const { user, system } = process.cpuUsage(own);
    const { cpuNs, wallNs } = cpuBetween(from, sampleCpu(process.pid));
    expect(Math.abs(cpuNs / 1e6 - (user + system) / 1e3)).toBeLessThan(25);
    expect(wallNs).toBeGreaterThan(0);
    expect(sampleMemory(process.pid).peakRss).toBeGreaterThan(10 * 2 ** 20);
  });

  it('reads sizes from lines of /proc', () => {
    expect(parseKilobytes('VmPeak:\t  9 kB\nVmRSS:\t  12 kB\n', 'VmRSS')).toBe(12_288);
    expect(() => parseKilobytes('VmRSSx: 1 kB\n', 'VmRSS')).toThrow('no VmRSS');
  });
});

describe('tables', () => {
  it('align text left and numbers right, and end in their notes', () => {
    const text = renderTable({
      title: 'T',
      header: ['who', 'n'],
      rows: [
        ['a', '1'],
        ['long', '100'],
      ],
      notes: ['why'],
    });
    expect(text).toBe('T\nwho     n\n----  ---\na       1\nlong  100\n  why\n');
  });
});
