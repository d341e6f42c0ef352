// Runs in the command line. Owns `drover logs`: lines of the past, and those that come.

import type { Command } from 'commander';
import { ApiError, type StreamEvent } from '../../client/index.js';
import {
  type Connection,
  type ConnectionOptions,
  connect,
  withConnection,
} from '../connection/connection.js';
import { StreamWatch } from '../connection/stream-watch.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { parseDuration } from '../flags/duration.js';
import { type FilterFlags, filterOf, withFilter } from '../flags/filter-flags.js';
import { wholeNumber } from '../flags/flag-values.js';
import { stopSignal } from '../stop-signals.js';
import { action } from '../terminal/action.js';
import { eventLine } from '../terminal/event-line.js';
import { isColored, print, safeJson } from '../terminal/output.js';

const LINES = 100;
/** As many as one page of the service has. */
const PAGE = 1000;

interface LogsOptions extends ConnectionOptions, FilterFlags {
  follow?: true;
  lines?: number;
  since?: string;
  grep?: string;
  json?: true;
  color: boolean;
}

export function addLogs(program: Command): void {
  withFilter(withConnection(program.command('logs')), 'log')
    .description(
      'show the lines of bots and of the service: the last ones, or with -f those that come',
    )
    .option('-f, --follow', 'go on with what comes, over restarts of the service')
    .option('-n, --lines <number>', `so many of the past (${LINES}; with -f none)`, wholeNumber)
    .option('--since <when>', 'of the past only what is newer: 10m, a date, Unix ms, or an id')
    .option('-g, --grep <text>', 'only with this text in the message, in whatever case')
    .option('--json', 'one JSON object on each line: id, event, data')
    .option('--no-color', 'without colours; they are off too where the output is no terminal')
    .action(action(logs));
}

async function logs(options: LogsOptions): Promise<undefined> {
  const connection = connect(options);
  const show = shower(options);
  // What is wrong with the address or the token is said now; once it follows, the stream tries again.
  await connection.client.apiInfo(connection.call());
  const past = await pastOf(connection, options);
  await show(past);
  if (!options.follow) return;
  const stream = connection.client.stream({
    ...filterOf(options, ['log']),
    snapshot: false,
    // The last of the past, or what was asked for: nothing between the two is left out.
    lastEventId: past.at(-1)?.id ?? idIn(options.since),
    signal: stopSignal,
    onState: new StreamWatch().onState,
  });
  for await (const batch of stream.batches()) await show(batch);
}

function shower({
  json,
  color,
  grep,
}: LogsOptions): (events: readonly StreamEvent[]) => Promise<void> {
  const colored = isColored(color);
  const wanted = grep?.toLowerCase();
  const fits = (event: StreamEvent): boolean =>
    wanted === undefined || event.event === 'gap' || textOf(event).toLowerCase().includes(wanted);
  return async (events) => {
    const lines = events
      .filter(fits)
      .map((event) => `${json ? safeJson(event) : eventLine(event, colored)}\n`);
    if (lines.length > 0) await print(lines.join(''));
  };
}

function textOf(event: StreamEvent): string {
  return event.event === 'log' ? event.data.message : JSON.stringify(event.data);
}

/** Oldest first. */
async function pastOf(connection: Connection, options: LogsOptions): Promise<StreamEvent[]> {
  const { follow, since, grep } = options;
  const wanted = options.lines ?? (follow && since === undefined ? 0 : LINES);
  // From an id on the stream itself goes on, without a page between.
  if (follow && options.lines === undefined && idIn(since) !== undefined) return [];
  const events: StreamEvent[] = [];
  const query = { ...filterOf(options, ['log']), after: since && sinceOf(since), q: grep };
  let cursor: string | undefined;
  while (events.length < wanted) {
    const limit = Math.min(PAGE, wanted - events.length);
    const page = await connection.client
      .events({ ...query, limit, cursor, ...connection.call() })
      .catch(explain);
    events.push(...page.events);
    if (page.cursor === null) break;
    cursor = page.cursor;
  }
  return events.reverse();
}

/** An id of the stream; undefined when it is a time. */
function idIn(since: string | undefined): string | undefined {
  return since !== undefined && /^[0-9a-f]+-\d+$/.test(since) && !/^\d{4}-\d\d?$/.test(since)
    ? since
    : undefined;
}

/** What the service understands. @throws CliError. */
function sinceOf(since: string): string | number {
  const ms = /^\d+$/.test(since) ? undefined : parseDuration(since);
  if (ms !== undefined) return Date.now() - ms;
  if (idIn(since) !== undefined || /^\d+$/.test(since) || !Number.isNaN(Date.parse(since)))
    return since;
  throw new CliError(
    EXIT.usage,
    `--since ${since} is no time; it looks like 10m, 2026-01-31T03:00:00Z, Unix ms, or an id of the stream`,
  );
}

function explain(thrown: unknown): never {
  const isUnknown = thrown instanceof ApiError && thrown.status === 404;
  if (!isUnknown) throw thrown;
  const message =
    'the service keeps no past, it is of an older version; drover logs -f shows what comes';
  throw new CliError(EXIT.other_version, message);
}
