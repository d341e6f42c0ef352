import type { Command } from 'commander';
import { ApiError, type EventFilter, type StreamEvent } from '../../client/index.js';
import { LIMIT } from '../../shared/contract/query-bounds.js';
import { instantOf } from '../../shared/query/instant.js';
import { ClusterWatch } from '../connection/cluster-watch.js';
import {
  type Connection,
  type ConnectionOptions,
  connect,
  withConnection,
} from '../connection/connection.js';
import { StreamWatch } from '../connection/stream-watch.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { isSelecting, noBots, selectBots } from '../flags/bot-selectors.js';
import { parseDuration } from '../flags/duration.js';
import { type FilterFlags, filterOf, withFilter } from '../flags/filter-flags.js';
import { wholeNumber } from '../flags/flag-values.js';
import { parameterText } from '../flags/parameter-text.js';
import { stopSignal } from '../stop-signals.js';
import { action, complain } from '../terminal/action.js';
import { eventLine } from '../terminal/event-line.js';
import { isColored, print, safeJson } from '../terminal/output.js';

const DEFAULT_LINES = 100;

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
    .description('print the log of bots and of the service')
    .option('-f, --follow', 'print new lines as they arrive; reconnects when the service restarts')
    .option(
      '-n, --lines <number>',
      `number of past lines (default: ${DEFAULT_LINES}; 0 with -f)`,
      wholeNumber,
    )
    .option(
      '--since <when>',
      'only past lines newer than this: 10m, a date, Unix ms, or an event id',
    )
    .option('-g, --grep <text>', parameterText('GET /events', 'q'))
    .option('--json', 'print one JSON object per line: id, event, data')
    .option('--no-color', 'disable colours (default when the output is not a terminal)')
    .action(action(logs));
}

async function logs(options: LogsOptions): Promise<undefined> {
  const connection = connect(options);
  const show = printer(options);
  // Fail now if the address or the token is wrong: the stream would retry.
  await connection.client.apiInfo(connection.call());
  const filter = { ...filterOf(options, ['log']), q: options.grep };
  const history = await historyOf(connection, options, filter);
  await show(history);
  if (!options.follow) {
    const { status, kind, label } = options;
    const bots = { status, kind, label };
    const hasNone = history.length === 0 && isSelecting(bots);
    if (hasNone && (await selectBots(connection, bots)).length === 0) throw noBots(bots);
    return;
  }
  const stream = connection.client.stream({
    ...filter,
    // The stream continues after the history.
    snapshot: false,
    // Continue right after what was printed.
    lastEventId: newestId(history) ?? idIn(options.since),
    signal: stopSignal,
    onState: new StreamWatch().onState,
  });
  const cluster = new ClusterWatch();
  for await (const batch of stream.batches()) {
    for (const event of batch) cluster.see(event);
    await show(batch.filter(({ event }) => event !== 'other'));
  }
}

function printer({ json, color }: LogsOptions): (events: readonly StreamEvent[]) => Promise<void> {
  const colored = isColored(color);
  return async (events) => {
    const lines = events.flatMap((event) =>
      json ? `${safeJson(event)}\n` : eventLine(event, colored),
    );
    if (lines.length > 0) await print(...lines);
  };
}

/** The highest id in the numbering of the last event: in a cluster events are in the order of their times. */
function newestId(history: readonly StreamEvent[]): string | undefined {
  const last = history.at(-1)?.id;
  if (!last) return undefined;
  const start = last.slice(0, last.indexOf('-') + 1);
  const numbers = history.flatMap(({ id }) =>
    id?.startsWith(start) ? [Number(id.slice(start.length))] : [],
  );
  return `${start}${Math.max(...numbers)}`;
}

/** Oldest first. */
async function historyOf(
  connection: Connection,
  options: LogsOptions,
  filter: EventFilter,
): Promise<StreamEvent[]> {
  const { follow, since } = options;
  const wanted = options.lines ?? (follow && since === undefined ? 0 : DEFAULT_LINES);
  // The stream itself replays from an id.
  if (follow && options.lines === undefined && idIn(since) !== undefined) return [];
  const events: StreamEvent[] = [];
  const query = { ...filter, after: since && sinceOf(since) };
  const missing = new Map<string, string>();
  let cursor: string | undefined;
  while (events.length < wanted) {
    const limit = Math.min(LIMIT.maximum, wanted - events.length);
    const page = await connection.client
      .events({ ...query, limit, cursor, ...connection.call() })
      .catch(explain);
    events.push(...page.events);
    for (const { node, reason } of page.missing ?? []) missing.set(node, reason);
    if (page.cursor === null) break;
    cursor = page.cursor;
  }
  for (const [node, reason] of missing)
    complain(`past lines of node ${node} are missing: ${reason}`);
  return events.reverse();
}

/** The event id; undefined if it is a time. */
function idIn(since: string | undefined): string | undefined {
  return since !== undefined && /^[0-9a-f]+-\d+$/.test(since) && !/^\d{4}-\d\d?$/.test(since)
    ? since
    : undefined;
}

/** The `after` of the API. @throws CliError */
function sinceOf(since: string): string | number {
  const ms = /^\d+$/.test(since) ? undefined : parseDuration(since);
  if (ms !== undefined) return Date.now() - ms;
  if (idIn(since) !== undefined || /^\d+$/.test(since) || !Number.isNaN(instantOf(since)))
    return since;
  throw new CliError(
    EXIT.usage,
    `--since ${since} is not a time; use for example 10m, 2026-01-31T03:00:00Z, Unix ms, or an event id`,
  );
}

function explain(thrown: unknown): never {
  const isUnknown = thrown instanceof ApiError && thrown.status === 404;
  if (!isUnknown) throw thrown;
  const message = 'the service is an older version without history; use drover logs -f';
  throw new CliError(EXIT.other_version, message);
}
