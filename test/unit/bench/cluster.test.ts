// The arithmetic of the cluster bench: it says that no event is lost, so it has to notice one that is.

import { expect, it } from 'vitest';
import { latencyMetrics, sustained, throughputMetrics } from '../../../bench/cluster/figures.js';
import { expectAll, type Positions } from '../../../bench/cluster/positions.js';
import type { Throughput } from '../../../bench/cluster/throughput.js';

function positions(own: number[], cluster: number[], ids = cluster): Positions {
  return {
    own,
    cluster: cluster.map((seq, at) => ({
      at: 0,
      seq,
      message: { id: `e-${ids[at]}`, data: '', event: 'log' },
    })),
    lagMs: 0,
  };
}

it('what the nodes have made is on the stream of each, or the bench fails', () => {
  const from = positions([10, 20, 30], [100, 100, 100]);
  expect(expectAll(from, positions([110, 70, 31], [251, 251, 251]))).toBe(151);
  expect(() => expectAll(from, positions([110, 70, 31], [250, 250, 250]))).toThrow(
    'the nodes have made 151 events, the stream of the cluster has 150',
  );
  expect(() => expectAll(from, positions([110, 70, 31], [251, 251, 250]))).toThrow(
    'the nodes number differently: e-251, e-250',
  );
});

function tried(offered: number, isSustained: boolean): Throughput {
  return {
    offered,
    eventsPerS: offered,
    seconds: 5,
    events: 5 * offered,
    lagMs: 10,
    isSustained,
    parts: [],
    usPerEvent: 10,
    framesPerBlock: 500,
    frameBytes: 220,
    busRatio: 0.1,
  };
}

it('the rate is the last one that was sustained, and none is 0', () => {
  expect(sustained([tried(1, true), tried(2, true), tried(3, false)])?.offered).toBe(2);
  const value = (all: Throughput[]) => throughputMetrics(all)[0]?.value;
  expect(value([tried(1, true), tried(2, false)])).toBe(1);
  expect(value([tried(2, false)])).toBe(0);
});

it('the latency of the cluster is that of the worst node that does not run the bot', () => {
  const one = (name: string, p50Ms: number) => ({
    name,
    p50Ms,
    p99Ms: 3 * p50Ms,
    maxMs: 0,
    frames: 1,
  });
  const metrics = latencyMetrics([one('own', 1), one('h1', 90), one('h2', 8), one('h3', 9)]);
  const value = (id: string) => metrics.find((metric) => metric.id === id)?.value;
  expect(value('latency/p50')).toBe(9);
  expect(value('latency/p99')).toBe(27);
  expect(value('latency/own-stream/p50')).toBe(1);
});
