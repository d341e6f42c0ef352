// The journal bench: its cost for live streams, the time to find one bot's page among many events, and the speed of a replay
// beside live streams.

import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  factorMetric,
  type Metric,
  metricTable,
  planOf,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { runRounds, series } from './harness/rounds.js';
import { median } from './harness/stats.js';
import { number, type Table, whole } from './harness/table.js';
import { CatchUp } from './journal/catch-up.js';
import { fillJournal, get, journalInfo } from './journal/past.js';
import { closeFeeds, type DroverFeed, droverFeed, startFeeds } from './streams/feeds.js';
import {
  groupOf,
  measureStreams,
  type StreamWork,
  streamContender,
} from './streams/measurement.js';
import { streamTable } from './streams/stream-table.js';
import { Swarm } from './streams/swarm.js';

const ON = 'journal';
const OFF = 'no journal';
const OFF_AGAIN = 'no journal again';
const STREAMS = 4;
const MESSAGE_BYTES = 60;
const LIVE_STREAMS = 500;
const LIVE = { rate: 1000, messageBytes: MESSAGE_BYTES, form: 'batched' } as const;
const BOTS = 1000;
const PAGE = 100;
/** Maximum rate at which all bots fill the journal. */
const FILL_RATE = 150_000;

interface Plan {
  rounds: number;
  seconds: number;
  warmUpSeconds: number;
  /** Events per second of the first part. */
  rate: number;
  /** Events in the journal. */
  events: number;
  pages: number;
  /** Events of one replay. */
  replayed: number;
  replays: number;
}
const FULL: Plan = {
  rounds: 7,
  seconds: 4,
  warmUpSeconds: 1,
  rate: 200_000,
  events: 5_000_000,
  pages: 1000,
  replayed: 1_000_000,
  replays: 5,
};
const SHORT: Plan = {
  rounds: 2,
  seconds: 2,
  warmUpSeconds: 0.5,
  rate: 50_000,
  events: 300_000,
  pages: 200,
  replayed: 200_000,
  replays: 2,
};

export const journal: Bench = {
  name: 'journal',
  about:
    'the journal: its cost to the stream, one bot among millions of events, replay beside live streams',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  const cost = await runCost(plan, progress);
  const past = await runPast(plan, progress);
  const metrics = [...cost.metrics, ...past.metrics];
  const notes = [
    'cost/cpu: CPU of the whole process per delivered frame, with the journal ÷ without. page/p99: GET /api/events of one bot.',
    'replay/live-p99: latency at 500 live streams while one client catches up ÷ the same without it.',
  ];
  return {
    metrics,
    tables: [...cost.tables, ...past.tables, metricTable('journal', metrics, notes)],
    measurements: { cost: cost.measurements, past: past.measurements },
  };
}

async function runCost(plan: Plan, progress: Progress): Promise<BenchResult> {
  progress.step('journal: starting the services');
  const settings = (enabled: boolean) => ({
    hosts: { count: 1, bot_lines_per_second: 0 },
    journal: { enabled },
  });
  const feeds = (await startFeeds([
    () => droverFeed(ON, settings(true)),
    () => droverFeed(OFF, settings(false)),
    () => droverFeed(OFF_AGAIN, settings(false)),
  ])) as DroverFeed[];
  const swarm = await Swarm.start(feeds.length * STREAMS);
  const work: StreamWork = {
    streams: STREAMS,
    load: { rate: plan.rate, messageBytes: MESSAGE_BYTES, form: 'batched' },
    seconds: plan.seconds,
    warmUpSeconds: plan.warmUpSeconds,
    sample: 1,
  };
  try {
    for (const feed of feeds) await swarm.open(groupOf(feed), feed.target, STREAMS);
    const contenders = feeds.map((feed) => streamContender(feed, swarm, work));
    const measured = await runRounds('journal, cost', contenders, plan.rounds, progress);
    const of = (name: string) => series(measured, name, (one) => one.cpuUsPerFrame);
    const control = of(OFF);
    const { lost } = await journalInfo((feeds[0] as DroverFeed).drover);
    const metrics: Metric[] = [
      factorMetric({
        id: 'cost/cpu',
        subject: of(ON),
        control,
        noise: { first: control, again: of(OFF_AGAIN) },
        target: { max: 1.25 },
      }),
      { id: 'cost/lost', value: lost, unit: 'events', target: { max: 0 } },
    ];
    const title = `journal, cost: ${STREAMS} streams x ${whole(plan.rate)} events/s (${plan.rounds} rounds of ${plan.seconds} s)`;
    return {
      metrics,
      tables: [streamTable(title, measured, [])],
      measurements: Object.fromEntries(measured),
    };
  } finally {
    await swarm.stop();
    await closeFeeds(feeds);
  }
}

async function runPast(plan: Plan, progress: Progress): Promise<BenchResult> {
  progress.step(`journal: ${whole(plan.events)} events of ${whole(BOTS)} bots`);
  const feed = await droverFeed('drover', {
    hosts: { count: 1, bot_lines_per_second: 0 },
    journal: { max_bytes: 8 * 1024 ** 3 },
  });
  const swarm = await Swarm.start(LIVE_STREAMS);
  try {
    const config = {
      events_per_second: Math.round(FILL_RATE / BOTS),
      message_bytes: MESSAGE_BYTES,
    };
    await fillJournal(feed.drover, plan.events, () =>
      feed.drover.createSyntheticBots(BOTS, config),
    );
    const pages = await readPages(feed, plan.pages, progress);
    const replay = await runReplays(feed, swarm, plan, progress);
    const info = await journalInfo(feed.drover);
    const metrics: Metric[] = [
      { id: 'page/p99', value: pages.p99, unit: 'ms', target: { max: 20 } },
      {
        id: 'replay/rate',
        value: median(replay.rates),
        unit: 'events/s',
        target: { min: 300_000 },
      },
      {
        id: 'replay/live-p99',
        value: median(replay.ratios),
        unit: 'x',
        target: { max: 1.5 },
      },
    ];
    const table: Table = {
      title: `journal, past: ${whole(plan.events)} events, ${whole(info.bytes / 2 ** 20)} MiB`,
      header: ['what', 'median', 'lowest', 'highest'],
      rows: [
        ['page of 100 of one bot, ms', number(pages.p50), number(pages.min), number(pages.max)],
        ['replay, events/s', ...spread(replay.rates)],
        ['live p99 without, ms', ...spread(replay.quiet)],
        ['live p99 with a replay, ms', ...spread(replay.busy)],
      ],
      notes: [`Lost to the journal: ${info.lost}.`],
    };
    return { metrics, tables: [table], measurements: { pages, replay, info } };
  } finally {
    await swarm.stop();
    await feed.close();
  }
}

function spread(values: readonly number[]): string[] {
  return [median(values), Math.min(...values), Math.max(...values)].map(number);
}

async function readPages(feed: DroverFeed, count: number, progress: Progress) {
  progress.step('journal: pages');
  const { bots } = await get<{ bots: { id: string }[] }>(feed.drover, '/api/bots');
  const times: number[] = [];
  // Evenly over all bots, never the same twice in a row; the first few are a warm-up.
  for (let n = -20; n < count; n++) {
    const bot = bots[(Math.abs(n) * 379) % bots.length]?.id ?? '';
    const began = performance.now();
    const { events } = await get<{ events: { data: { session_id?: string } }[] }>(
      feed.drover,
      `/api/events?session=${bot}&event=log&limit=${PAGE}`,
    );
    if (n >= 0) times.push(performance.now() - began);
    if (events.length !== PAGE || events.some(({ data }) => data.session_id !== bot)) {
      throw new Error(`the page of ${bot} is wrong`);
    }
  }
  times.sort((one, other) => one - other);
  const at = (share: number): number => times[Math.floor(share * (times.length - 1))] as number;
  return { p50: at(0.5), p99: at(0.99), min: at(0), max: at(1) };
}

async function runReplays(feed: DroverFeed, swarm: Swarm, plan: Plan, progress: Progress) {
  const work: StreamWork = {
    streams: LIVE_STREAMS,
    load: LIVE,
    seconds: plan.seconds,
    warmUpSeconds: plan.warmUpSeconds,
    sample: 20,
  };
  await swarm.open(groupOf(feed), feed.target, LIVE_STREAMS);
  await measureStreams(feed, swarm, work, plan.warmUpSeconds);
  const { oldest } = await journalInfo(feed.drover);
  const rates: number[] = [];
  const quiet: number[] = [];
  const busy: number[] = [];
  for (let round = 0; round < plan.replays; round++) {
    progress.step(`journal: replay ${round + 1} of ${plan.replays}`);
    const without = await measureStreams(feed, swarm, work, plan.seconds);
    // The live streams are measured exactly while the replay runs.
    const during = await measureStreams(feed, swarm, work, 0, () =>
      CatchUp.run(feed.server.url, feed.drover.authorization, oldest, plan.replayed),
    );
    if (during.gaps > 0 || during.closed > 0) throw new Error('live streams had a gap or ended');
    rates.push(plan.replayed / (during.meanwhile as number));
    quiet.push(without.p99Ms);
    busy.push(during.p99Ms);
  }
  return { rates, quiet, busy, ratios: busy.map((ms, at) => ms / (quiet[at] as number)) };
}
