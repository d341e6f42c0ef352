// The query bench: how long the first page of a query takes in a journal of a million lines.

import { fileURLToPath } from 'node:url';
import { freePort } from '../test/harness/ports.js';
import { ask as post } from './harness/ask.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Metric,
  metricTable,
  planOf,
} from './harness/bench.js';
import { Drover } from './harness/drover.js';
import { benchScript } from './harness/paths.js';
import type { Progress } from './harness/progress.js';
import { median } from './harness/stats.js';
import { number, type Table, whole } from './harness/table.js';
import { BlockScan } from './journal/block-scan.js';
import { fillJournal, get, journalInfo } from './journal/past.js';

const BOTS = 1000;
const TEAMS = 100;
/** Maximum rate at which all bots fill the journal. */
const FILL_RATE = 100_000;
const PAGE = 100;
const FIRST_PAGE_MS = 500;

interface Plan {
  events: number;
  rounds: number;
}
const FULL: Plan = { events: 1_000_000, rounds: 5 };
const SHORT: Plan = { events: 200_000, rounds: 3 };

/** By what is asked; the event with "pong" is the oldest one, and no line has "griffin". */
const QUERIES: Readonly<Record<string, string>> = {
  'a text of the oldest line': 'pong',
  'a text of no line': 'griffin',
  'a text of many lines': 'harbour',
  'two texts in few lines': 'harbour trader-299',
  'a regular expression of many lines': '/trader-2\\d+$/',
  'a regular expression of no line': '/griffin \\d+ (of|in)/i',
  'a regular expression with a text of many lines': '/\\d{7} coins/',
  'a regular expression of two texts': '/(griffin|unicorn) \\d+/i',
  'a regular expression without a text': '/\\d{7} [a-z]/',
  'level:error': 'level:error',
  'a level that no line has': 'level:state griffin',
  'one bot': 'bot:bench-00500',
  'bots by a pattern': 'bot:bench-0050*',
  'bots by a pattern that none has': 'bot:griffin-*',
  'a text of one bot': 'bot:bench-00500 griffin',
  'a scope that no line has': 'scope:tcp',
  'a pattern that no scope has': 'scope:tc*',
  'wire lines': 'direction:incoming',
  'data.gold<100': 'data.gold<100',
  'data that no bot has': 'data.gold>100000',
  'data and a text of no line': 'data.gold<500 griffin',
  'one team of 100': 'label:team=t7',
  'a team and a text of no line': 'label:team=t7 griffin',
  'without a text': '-harbour',
  'without what all have': '-scope:bot -event:session -scope:dispatch',
  'without a team, a text of no line': '-label:team=t7 griffin',
  'changes of bots': 'event:session',
};
/** The query that the control answers too. */
const CONTROLLED = 'a text of no line';

export const query: Bench = {
  name: 'query',
  about:
    'the first page of a query over a million lines in the journal, just after a start and later',
  run,
};

interface Asked {
  firstMs: number;
  laterMs: number[];
  /** Times of the control in the same rounds. */
  controlMs: number[];
  count: number;
  /** The page ends before the range does: there are more, or the search took too long. */
  isCut: boolean;
}

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  progress.step(`query: ${whole(plan.events)} events of ${whole(BOTS)} bots`);
  let drover = await Drover.start(
    'drover',
    {
      kinds: [fileURLToPath(benchScript('load/talking-bot.js'))],
      hosts: { count: 1, bot_lines_per_second: 0 },
      journal: { max_bytes: 2 * 1024 ** 3 },
      pressure: { max_cpu: 1 },
    },
    { port: await freePort() },
  );
  try {
    await drover.ping();
    await fillJournal(drover, plan.events, () => createBots(drover));
    const info = await journalInfo(drover);
    const scan = await BlockScan.of(drover);
    // Nothing of the journal is in the process then, and no code is compiled.
    drover = await drover.restartKilled();
    await silence(drover);
    const asked = new Map<string, Asked>();
    for (const [name, text] of Object.entries(QUERIES)) {
      progress.step(`query: ${name}`);
      asked.set(name, await ask(drover, text, scan, plan.rounds));
    }
    const slowest = Math.max(
      ...[...asked.values()].map(({ firstMs, laterMs }) => Math.max(firstMs, median(laterMs))),
    );
    const controls = [...asked.values()].flatMap(({ controlMs }) => controlMs);
    const metrics: Metric[] = [
      { id: 'slowest', value: slowest, unit: 'ms', target: { max: FIRST_PAGE_MS } },
      { id: 'slowest/scan', value: Math.max(...[...asked.values()].map(ratioOf)), unit: 'x' },
      { id: 'text/scan', value: ratioOf(asked.get(CONTROLLED) as Asked), unit: 'x' },
    ];
    const table: Table = {
      title: `query: first page of ${PAGE} of ${whole(scan.events)} events, ${whole(info.bytes / 2 ** 20)} MiB of journal (${plan.rounds} rounds)`,
      header: ['query', 'first ms', 'later ms', 'highest', '÷ control', 'events', 'cut'],
      rows: [
        ...[...asked].map(([name, result]) => rowOf(name, result)),
        ['control', '', number(median(controls)), number(Math.max(...controls)), '', '', ''],
      ],
      notes: [
        'first: the first request with this query after a start. ÷ control: median of the rounds. events: on the page. cut: the page has a cursor.',
      ],
    };
    return {
      metrics,
      tables: [
        table,
        metricTable('query', metrics, [
          'slowest: the slowest first page of all. slowest/scan: the most of a later page ÷ a bare search through the same bytes. text/scan: the same of a text that no line has.',
        ]),
      ],
      measurements: { asked: Object.fromEntries(asked), info },
    };
  } finally {
    await drover.stop();
  }
}

/** All bots run again, so that they have data, and write no more lines. */
async function silence(drover: Drover): Promise<void> {
  const { server, authorization } = drover;
  const { bots } = await get<{ bots: { id: string }[] }>(drover, '/api/bots');
  const ids = bots.map(({ id }) => id);
  const config = { events_per_second: 0, mixed: true };
  await drover.forEach(ids, async (id) => {
    await post(server.url, `/api/bots/${id}`, { method: 'PATCH', authorization, body: { config } });
  });
  const body = { action: 'start', ids };
  await post(server.url, '/api/bots/actions', { method: 'POST', authorization, body });
  await drover.untilSettled(ids.length);
}

async function createBots(drover: Drover): Promise<void> {
  const numbers = new Map(
    Array.from({ length: BOTS }, (_, n) => [`bench-${String(n).padStart(5, '0')}`, n]),
  );
  const config = { events_per_second: Math.round(FILL_RATE / BOTS), mixed: true };
  await drover.forEach([...numbers.keys()], (id) => {
    const labels = { team: `t${(numbers.get(id) as number) % TEAMS}` };
    return drover.createBot(id, 'bench-talk', config, { labels });
  });
}

function ratioOf({ laterMs, controlMs }: Asked): number {
  return median(laterMs.map((ms, round) => ms / (controlMs[round] as number)));
}

function rowOf(name: string, result: Asked): string[] {
  const { firstMs, laterMs, count: events, isCut } = result;
  const times = [firstMs, median(laterMs), Math.max(...laterMs), ratioOf(result)];
  return [name, ...times.map(number), whole(events), isCut ? 'yes' : ''];
}

async function timed<T>(task: () => Promise<T>): Promise<[T, number]> {
  const began = performance.now();
  const result = await task();
  return [result, performance.now() - began];
}

/** Asks several times, each time with the control behind it. */
async function ask(drover: Drover, text: string, scan: BlockScan, rounds: number): Promise<Asked> {
  const path = `/api/events?query=${encodeURIComponent(text)}&limit=${PAGE}`;
  const read = () => get<{ events: unknown[]; cursor: string | null }>(drover, path);
  const [{ events, cursor }, firstMs] = await timed(read);
  const laterMs: number[] = [];
  const controlMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    laterMs.push((await timed(read))[1]);
    controlMs.push(scan.time('griffin'));
  }
  return { firstMs, laterMs, controlMs, count: events.length, isCut: cursor !== null };
}
