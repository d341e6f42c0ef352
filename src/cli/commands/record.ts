// Runs in the command line. Owns `drover record`: the events of a run, its commands' results among them, into a file.

import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { EventStream, StreamEvent } from '../../client/index.js';
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

/** How long the mark behind a command's last events may take to arrive, and a service to come back, in ms. */
const MARK_MS = 5000;
/** How long is waited for them where there can be no mark, in ms. */
const NO_MARK_MS = 1000;

interface RecordOptions extends ConnectionOptions, FilterFlags {
  for?: number;
  force?: true;
}

export function addRecord(program: Command): void {
  withFilter(withConnection(program.command('record')), 'both')
    .description(
      'write the events of a run to a file, for drover check: until Ctrl-C, for a time, or while a command runs',
    )
    .argument('<file>', 'NDJSON; - is standard output')
    .argument('[command...]', 'behind --; its exit code is that of drover record')
    .option('--for <time>', 'end after so long', duration)
    .option('--force', 'replace the file when it is there')
    .action(action(record));
}

async function record(file: string, command: string[], options: RecordOptions): Promise<number> {
  if (command.length > 0 && options.for !== undefined) {
    throw new CliError(EXIT.usage, 'give a command or --for, not both');
  }
  const isPrinted = isStandardOutput(file);
  if (command.length > 0 && isPrinted) {
    throw new CliError(EXIT.usage, 'the command has standard output for itself; give a file');
  }
  const connection = connect(options);
  const { client, call } = connection;
  await client.apiInfo(call());
  const filter = isFiltered(options) ? filterOf(options) : null;
  const writer = await RecordingWriter.open(
    file,
    { started_at_ms: Date.now(), url: client.url, filter },
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
      // Now nothing that the command does is missed.
      if (command.length > 0) commanded ??= runToItsEnd();
    },
  });
  let by: RecordingEnd['by'] = 'error';
  const stop = (why: RecordingEnd['by']): void => {
    if (by === 'error') by = why;
    stream.close();
  };
  stopSignal.addEventListener('abort', () => stop('signal'), { once: true });
  const timer = options.for === undefined ? undefined : setTimeout(stop, options.for, 'time');
  let commanded: Promise<CommandEnd> | undefined;
  const runToItsEnd = async (): Promise<CommandEnd> => {
    try {
      const code = await runCommand(command);
      if (stopSignal.aborted) return { code, missing: 'its command was interrupted' };
      if (watch.blind !== null) await reopened(stream, news);
      return { code, missing: await lastEvents(connection, filter ? null : news) };
    } finally {
      stop('command');
    }
  };
  const began = performance.now();
  // A command has the terminal for itself, and what is printed shows itself how far it is.
  if (command.length === 0 && !isPrinted) {
    followProgress(() => `recording: ${elapsed(began, options.for)}, ${writer.events} events`);
  }
  const reading = (async () => {
    for await (const batch of stream.batches()) {
      // The mark is waited for only once the command is over; it is ours, and no part of the run.
      const mark = news.listenerCount('mark') > 0 ? batch.find(isMark) : undefined;
      await writer.write(batch.filter((event) => event !== mark));
      if (mark) news.emit('mark');
    }
  })();
  const [read] = await Promise.allSettled([reading]);
  clearTimeout(timer);
  // The command is ours: it does not go on alone when the stream is over before it.
  const [ran] = await Promise.allSettled([commanded]);
  if (ran.status === 'rejected') {
    await writer.discard();
    throw ran.reason;
  }
  await watch.confirm(client);
  const missing = watch.blind ?? ran.value?.missing ?? null;
  const { events } = await writer.end({ by, disconnects: watch.disconnects, missing });
  if (read.status === 'rejected') throw read.reason;
  complain(`${events} events are ${isPrinted ? 'on standard output' : `in ${file}`}`);
  if (missing !== null) complain(`the end of the run is not in it: ${missing}`);
  return ran.value?.code || (watch.blind === null ? EXIT.ok : EXIT.no_service);
}

interface CommandEnd {
  /** Its exit code. */
  code: number;
  /** Why not all of it is recorded. */
  missing: string | null;
}

function isFiltered({ kind, level, bot, scope }: FilterFlags): boolean {
  return [kind, level, bot, scope].some(Boolean);
}

/** @returns its exit code. */
async function runCommand([name = '', ...args]: string[]): Promise<number> {
  const child = spawn(name, args, { stdio: 'inherit' });
  const pass = (): void => void child.kill('SIGTERM');
  stopSignal.addEventListener('abort', pass, { once: true });
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (thrown) {
    throw new CliError(EXIT.usage, `${name} cannot be run: ${(thrown as Error).message}`);
  } finally {
    stopSignal.removeEventListener('abort', pass);
  }
}

/** A service that the command has restarted is given time to come back; what it did meanwhile comes then. */
async function reopened(stream: EventStream, news: EventEmitter): Promise<void> {
  const isOpen = once(news, 'open', { signal: limit(MARK_MS) }).catch(() => {});
  stream.retryNow();
  await isOpen;
}

/**
 * What bots have said until now is on the stream before the line about a command that is sent now.
 * @param news null where a filter keeps that line away. @returns what is missing.
 */
async function lastEvents(
  { client, call }: Connection,
  news: EventEmitter | null,
): Promise<string | null> {
  if (news) {
    const seen = once(news, 'mark', { signal: limit(MARK_MS) }).then(
      () => null,
      () => `the last events had not come after ${showDuration(MARK_MS)}`,
    );
    const isSent = await client.invoke(null, 'ping', {}, call()).then(
      () => true,
      () => false,
    );
    if (isSent) return seen;
  }
  // The line does not come, or the token may not ask for it.
  await delay(NO_MARK_MS);
  return null;
}

function isMark(event: StreamEvent): boolean {
  if (event.event !== 'log') return false;
  const { data } = event;
  return data.scope === 'dispatch' && data.session_id === null && data.message.startsWith('ping ');
}
