// Metrics and tables of the cluster bench, with the targets.

import { type Metric, medianMetric } from '../harness/bench.js';
import { type Measurements, series } from '../harness/rounds.js';
import { percentile } from '../harness/stats.js';
import { number, type Table, whole } from '../harness/table.js';
import type { Measurement } from '../http/measurement.js';
import type { Failover } from './failover.js';
import type { Latency } from './latency.js';
import type { Listing } from './listing.js';
import type { Throughput } from './throughput.js';

const LEAST_EVENTS_PER_S = 200_000;
const MOST_BUS_RATIO = 0.15;
const MOST_P50_MS = 20;
const MOST_P99_MS = 60;
/** From the end of the lease. */
const MOST_RESTART_MS = 5000;
const MOST_COMMAND_MS = 20;
const MOST_PAGE_MS = 100;

/** The last that was sustained for the longest time that was tried: what passes for seconds may not last a minute. */
export function sustained(tried: readonly Throughput[]): Throughput | undefined {
  const longest = Math.max(...tried.map(({ seconds }) => seconds));
  return tried.findLast(({ isSustained, seconds }) => isSustained && seconds === longest);
}

export function throughputMetrics(tried: readonly Throughput[]): Metric[] {
  const best = sustained(tried);
  return [
    {
      id: 'events/1-server',
      value: best?.eventsPerS ?? 0,
      unit: '/s',
      target: { min: LEAST_EVENTS_PER_S },
    },
    { id: 'cpu/1-server', value: best?.usPerEvent ?? Number.NaN, unit: 'µs/event' },
    {
      id: 'bus/1-server',
      value: best?.busRatio ?? Number.NaN,
      unit: 'x',
      target: { max: MOST_BUS_RATIO },
    },
  ];
}

export function throughputTable(tried: readonly Throughput[]): Table {
  const parts = tried[0]?.parts.map(({ name }) => name) ?? [];
  return {
    title:
      'cluster: events through three nodes on a NATS server, each node reads all; CPU in cores',
    header: [
      'offered/s',
      'seconds',
      'passed/s',
      'lag ms',
      'kept up',
      'µs/event',
      ...parts,
      'frames/block',
      'bytes/frame',
      'on the bus',
    ],
    rows: tried.map((one) => [
      whole(one.offered),
      whole(one.seconds),
      whole(one.eventsPerS),
      whole(one.lagMs),
      one.isSustained ? 'yes' : 'no',
      number(one.usPerEvent),
      ...one.parts.map(({ cores }) => number(cores)),
      whole(one.framesPerBlock),
      whole(one.frameBytes),
      number(one.busRatio),
    ]),
    notes: [
      'All events that the nodes have made are on the stream of each node, once, with the same ids: counted after each row.',
      'lag: from an event at the end of the load until the last node has it. µs/event: CPU of all processes, the bots included.',
      'on the bus: bytes of the JetStream stream ÷ bytes of the frames as a client gets them.',
    ],
  };
}

export function latencyMetrics([own, ...nodes]: readonly Latency[]): Metric[] {
  // The first node runs the bot.
  const others = nodes.slice(1);
  const worst = (pick: (one: Latency) => number) => Math.max(...others.map(pick));
  return [
    { id: 'latency/own-stream/p50', value: own?.p50Ms ?? Number.NaN, unit: 'ms' },
    { id: 'latency/own-stream/p99', value: own?.p99Ms ?? Number.NaN, unit: 'ms' },
    {
      id: 'latency/p50',
      value: worst(({ p50Ms }) => p50Ms),
      unit: 'ms',
      target: { max: MOST_P50_MS },
    },
    {
      id: 'latency/p99',
      value: worst(({ p99Ms }) => p99Ms),
      unit: 'ms',
      target: { max: MOST_P99_MS },
    },
  ];
}

export function commandMetrics(
  measured: Measurements<Measurement>,
  here: string,
  elsewhere: string,
): Metric[] {
  const metric = (id: string, name: string, pick: (one: Measurement) => number, max?: number) =>
    medianMetric(id, 'ms', series(measured, name, pick), max === undefined ? undefined : { max });
  const p50 = ({ load }: Measurement) => load.p50Ms;
  const p99 = ({ load }: Measurement) => load.p99Ms;
  return [
    metric('command/asked-node/p50', here, p50),
    metric('command/asked-node/p99', here, p99),
    metric('command/p50', elsewhere, p50),
    metric('command/p99', elsewhere, p99, MOST_COMMAND_MS),
  ];
}

export function failoverMetrics(measured: readonly Failover[], leaseMs: number): Metric[] {
  const first = measured.map(({ firstRunsMs }) => firstRunsMs / 1000);
  const all = measured.map(({ allRunMs }) => allRunMs / 1000);
  return [
    medianMetric('failover/first', 's', first),
    medianMetric('failover/all', 's', all, { max: (leaseMs + MOST_RESTART_MS) / 1000 }),
    { id: 'failover/all/p90', value: percentile(all, 90), unit: 's' },
  ];
}

export function listingMetrics({ createdPerS, p50Ms, p99Ms }: Listing): Metric[] {
  return [
    { id: 'bots/created', value: createdPerS, unit: '/s' },
    { id: 'bots/page/p50', value: p50Ms, unit: 'ms' },
    { id: 'bots/page/p99', value: p99Ms, unit: 'ms', target: { max: MOST_PAGE_MS } },
  ];
}
