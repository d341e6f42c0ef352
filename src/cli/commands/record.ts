// `drover record`: writes the events of a run, including command results, to a file.

import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { EventStream, StreamEvent } from '../../client/index.js';
import { DISPATCH_SCOPE } from '../../shared/contract/scopes.js';
import { printQuery } from '../../shared/query/print-query.js';
import { selectionOf } from '../../shared/query/selection.js';
import {
  type Connection,
  type ConnectionOptions,
  connect,
  limit,
  withConnection,
} from '../connection/connection.js';
import { StreamWatch } from '../connection/stream-watch.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { showDuration } from '../flags/duration.js';
import { type FilterFlags, filterOf, withFilter } from '../flags/filter-flags.js';
import { duration } from '../flags/flag-values.js';
import { type RecordingEnd, RecordingWriter } from '../recording/recording-file.js';
import { stopSignal } from '../stop-signals.js';
import { action, complain } from '../terminal/action.js';
import { isStandardOutput } from '../terminal/output.js';
import { elapsed, followProgress } from '../terminal/progress.js';

/** Time limit for the end marker to arrive, and for a restarted service to come back, in ms. */
const MARK_MS = 5000;
/** How long to wait for the last events if there is no end marker, in ms. */
const NO_MARK_MS = 1000;

interface RecordOptions extends ConnectionOptions, FilterFlags {
  for?: number;
  force?: true;
}

export function addRecord(program: Command): void {
  withFilter(withConnection(program.command('record')), 'both')
    .description(
      'record events to a file for drover check: until Ctrl-C, for a time, or while a command runs',
    )
    .argument('<file>', 'output file (NDJSON); - is standard output')
    .argument('[command...]', 'command to run, after --; drover record exits with its exit code')
    .option('--for <time>', 'stop after this time', duration)
    .option('--force', 'overwrite an existing file')
    .action(action(record));
}

async function record(file: string, command: string[], options: RecordOptions): Promise<number> {
  if (command.length > 0 && options.for !== undefined) {
    throw new CliError(EXIT.usage, 'give either a command or --for');
  }
  const isPrinted = isStandardOutput(file);
  if (command.length > 0 && isPrinted) {
    throw new CliError(EXIT.usage, 'the command uses standard output; record to a file');
  }
  const connection = connect(options);
  const { client, call } = connection;
  await client.apiInfo(call());
  const filter = filterOf(options);
  const query = selectionOf(Object.entries(filter), 'lines');
  const isFiltered = Object.values(filter).some((given) => given !== undefined);
  const writer = await RecordingWriter.open(
    file,
    { started_at_ms: Date.now(), url: client.url, filter: isFiltered ? printQuery(query) : null },
    options.force === true,
  );
  const watch = new StreamWatch();
  const news = new EventEmitter();
  const stream = client.stream({
    ...filter,
    onState: (state) => {
      watch.onState(state);
      if (state.state !== 'open') return;
      news.emit('open');
      // The stream is open, so no event of the command is missed.
      if (command.length > 0) running ??= runToEnd();
    },
  });
  let by: RecordingEnd['by'] = 'error';
  const stop = (why: RecordingEnd['by']): void => {
    if (by === 'error') by = why;
    stream.close();
  };
  stopSignal.addEventListener('abort', () => stop('signal'), { once: true });
  const timer = options.for === undefined ? undefined : setTimeout(stop, options.for, 'time');
  let running: Promise<CommandEnd> | undefined;
  const runToEnd = async (): Promise<CommandEnd> => {
    try {
      const code = await runCommand(command);
      if (stopSignal.aborted) return { code, missing: 'the command was interrupted' };
      if (watch.blind !== null) await reopened(stream, news);
      return { code, missing: await lastEvents(connection, isFiltered ? null : news) };
    } finally {
      stop('command');
    }
  };
  const began = performance.now();
  // A command owns the terminal, and a recording on standard output shows its own progress.
  if (command.length === 0 && !isPrinted) {
    followProgress(() => `recording: ${elapsed(began, options.for)}, ${writer.events} events`);
  }
  const reading = (async () => {
    for await (const batch of stream.batches()) {
      // The end marker is expected only after the command ended. It is not part of the run.
      const mark = news.listenerCount('mark') > 0 ? batch.find(isMark) : undefined;
      await writer.write(batch.filter((event) => event !== mark));
      if (mark) news.emit('mark');
    }
  })();
  const [read] = await Promise.allSettled([reading]);
  clearTimeout(timer);
  // Wait for the command, even if the stream ended first.
  const [ran] = await Promise.allSettled([running]);
  if (ran.status === 'rejected') {
    await writer.discard();
    throw ran.reason;
  }
  await watch.confirm(client);
  const missing = watch.blind ?? ran.value?.missing ?? null;
  const { events } = await writer.end({ by, disconnects: watch.disconnects, missing });
  if (read.status === 'rejected') throw read.reason;
  complain(`recorded ${events} events to ${isPrinted ? 'standard output' : file}`);
  if (missing !== null) complain(`the end of the run was not recorded: ${missing}`);
  return ran.value?.code || (watch.blind === null ? EXIT.ok : EXIT.no_service);
}

interface CommandEnd {
  /** The exit code. */
  code: number;
  /** Why the recording is incomplete. */
  missing: string | null;
}

/** @returns the exit code. */
async function runCommand([name = '', ...args]: string[]): Promise<number> {
  const child = spawn(name, args, { stdio: 'inherit' });
  const pass = (): void => void child.kill('SIGTERM');
  stopSignal.addEventListener('abort', pass, { once: true });
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (thrown) {
    throw new CliError(EXIT.usage, `cannot run ${name}: ${(thrown as Error).message}`);
  } finally {
    stopSignal.removeEventListener('abort', pass);
  }
}

/** Gives a service that the command restarted time to come back and replay what was missed. */
async function reopened(stream: EventStream, news: EventEmitter): Promise<void> {
  const isOpen = once(news, 'open', { signal: limit(MARK_MS) }).catch(() => {});
  stream.retryNow();
  await isOpen;
}

/**
 * Waits until every event so far has arrived. The end marker is the log line of a `ping` sent now: earlier events precede it.
 * @param news null if a filter hides that line. @returns what is missing.
 */
async function lastEvents(
  { client, call }: Connection,
  news: EventEmitter | null,
): Promise<string | null> {
  if (news) {
    const seen = once(news, 'mark', { signal: limit(MARK_MS) }).then(
      () => null,
      () => `the last events did not arrive within ${showDuration(MARK_MS)}`,
    );
    const isSent = await client.invoke(null, 'ping', {}, call()).then(
      () => true,
      () => false,
    );
    if (isSent) return seen;
  }
  // Hidden by the filter, or the token may not send commands.
  await delay(NO_MARK_MS);
  return null;
}

function isMark(event: StreamEvent): boolean {
  if (event.event !== 'log') return false;
  const { data } = event;
  return (
    data.scope === DISPATCH_SCOPE && data.session_id === null && data.message.startsWith('ping ')
  );
}
