// Metrics and tables of the cluster bench, with the targets.

import { factorMetric, type Metric } from '../harness/bench.js';
import { type Measurements, series } from '../harness/rounds.js';
import { median, percentile, summarize } from '../harness/stats.js';
import { number, type Table, whole } from '../harness/table.js';
import type { Measurement } from '../http/measurement.js';
import type { Alone } from './alone.js';
import type { Failover } from './failover.js';
import type { Latency } from './latency.js';
import type { Listing } from './listing.js';
import type { Outage } from './outage.js';
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

export function throughputMetrics(servers: number, tried: readonly Throughput[]): Metric[] {
  const best = sustained(tried);
  const id = (what: string) => `${what}/${servers}-server${servers === 1 ? '' : 's'}`;
  const target = servers === 1;
  return [
    {
      id: id('events'),
      value: best?.eventsPerS ?? 0,
      unit: '/s',
      ...(target && { target: { min: LEAST_EVENTS_PER_S } }),
    },
    { id: id('cpu'), value: best?.usPerEvent ?? Number.NaN, unit: 'µs/event' },
    {
      id: id('bus'),
      value: best?.busRatio ?? Number.NaN,
      unit: 'x',
      ...(target && { target: { max: MOST_BUS_RATIO } }),
    },
  ];
}

export function throughputTable(servers: number, tried: readonly Throughput[]): Table {
  const parts = tried[0]?.parts.map(({ name }) => name) ?? [];
  return {
    title: `cluster: events through three nodes on ${servers} NATS server${servers === 1 ? '' : 's'}, each node reads all; CPU in cores`,
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
  const metric = (id: string, name: string, pick: (one: Measurement) => number): Metric => {
    const spread = summarize(series(measured, name, pick));
    return { id, value: spread.median, unit: 'ms', spread };
  };
  const p50 = ({ load }: Measurement) => load.p50Ms;
  const p99 = ({ load }: Measurement) => load.p99Ms;
  return [
    metric('command/asked-node/p50', here, p50),
    metric('command/asked-node/p99', here, p99),
    metric('command/p50', elsewhere, p50),
    { ...metric('command/p99', elsewhere, p99), target: { max: MOST_COMMAND_MS } },
  ];
}

export function outageMetrics({ eventsPerS, outageS, catchUpMs }: Outage): Metric[] {
  return [
    { id: 'outage/load', value: eventsPerS, unit: '/s' },
    { id: 'outage/catch-up', value: catchUpMs / 1000 / outageS, unit: 's/s' },
  ];
}

export function failoverMetrics(measured: readonly Failover[], leaseMs: number): Metric[] {
  const first = measured.map(({ firstRunsMs }) => firstRunsMs / 1000);
  const all = measured.map(({ allRunMs }) => allRunMs / 1000);
  const metric = (id: string, values: number[]): Metric => {
    const spread = summarize(values);
    return { id: `failover/${id}`, value: spread.median, unit: 's', spread };
  };
  return [
    metric('first', first),
    { ...metric('all', all), target: { max: (leaseMs + MOST_RESTART_MS) / 1000 } },
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

/** Each figure ÷ the same before. */
export function aloneMetrics(
  measured: Measurements<Alone>,
  { now, again, before }: { now: string; again: string; before: string },
): Metric[] {
  const factor = (id: string, pick: (one: Alone) => number): Metric => {
    const of = (name: string) => series(measured, name, pick);
    const noise = { first: of(now), again: of(again) };
    return factorMetric({ id: `alone/${id}`, subject: of(now), control: of(before), noise });
  };
  const own = (id: string, unit: string, pick: (one: Alone) => number): Metric => ({
    id: `alone/${id}`,
    value: median(series(measured, now, pick)),
    unit,
  });
  const start = ({ startMs }: Alone) => startMs;
  const memory = ({ idlePssMb }: Alone) => idlePssMb;
  const cpu = ({ cpuUsPerEvent }: Alone) => cpuUsPerEvent;
  return [
    own('start-ms', 'ms', start),
    factor('start/before', start),
    own('idle-memory-mb', 'MB', memory),
    factor('idle-memory/before', memory),
    own('cpu-us', 'µs/event', cpu),
    factor('cpu/before', cpu),
  ];
}
