// Runs in the command line. Owns `drover record`: the events of a run, its commands' results among them, into a file.

import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { StreamEvent } from '../client/index.js';
import { stopSignal } from '../stop-signals.js';
import {
  type Connection,
  type ConnectionOptions,
  connect,
  limit,
  withConnection,
} from './connection.js';
import { EXIT } from './exit-codes.js';
import { CliError } from './failure.js';
import { type FilterFlags, filterOf, withFilter } from './filter-flags.js';
import { tellState } from './follow.js';
import { duration } from './options.js';
import { RecordingWriter } from './recording.js';
import { action, complain } from './run.js';

/** How long the mark behind a command's last events may take to arrive, in ms. */
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
    .argument('<file>', 'NDJSON')
    .argument('[command...]', 'behind --; its exit code is that of drover record')
    .option('--for <time>', 'end after so long', duration)
    .option('--force', 'replace the file when it is there')
    .action(action(record));
}

async function record(file: string, command: string[], options: RecordOptions): Promise<number> {
  if (command.length > 0 && options.for !== undefined) {
    throw new CliError(EXIT.usage, 'give a command or --for, not both');
  }
  const connection = connect(options);
  const { client, call } = connection;
  await client.apiInfo(call());
  const writer = await RecordingWriter.open(
    file,
    { started_at_ms: Date.now(), url: client.url },
    options.force === true,
  );
  const tell = tellState();
  const stream = client.stream({
    ...filterOf(options),
    onState: (state) => {
      tell(state);
      // Now nothing that the command does is missed.
      if (state.state === 'open' && command.length > 0) exitCode ??= recorded();
    },
  });
  const end = (): void => stream.close();
  stopSignal.addEventListener('abort', end, { once: true });
  const timer = options.for === undefined ? undefined : setTimeout(end, options.for);
  const isFiltered = [options.kind, options.level, options.bot, options.scope].some(Boolean);
  const mark = new EventEmitter();
  let exitCode: Promise<number> | undefined;
  const recorded = (): Promise<number> => {
    const run = runCommand(command).then(async (code) => {
      await lastEvents(connection, isFiltered ? undefined : mark);
      return code;
    });
    // What it throws is thrown below, when the stream is over.
    run.then(end, end);
    return run;
  };
  try {
    for await (const batch of stream.batches()) {
      await writer.write(batch);
      if (batch.some(isMark)) mark.emit('seen');
    }
  } finally {
    clearTimeout(timer);
    // The command is ours: it does not go on alone when the stream is over before it.
    await exitCode?.catch(() => {});
    await writer.close();
  }
  complain(`${writer.events} events are in ${file}`);
  return (await exitCode) ?? EXIT.ok;
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

/** What bots have said until now is on the stream before the line about a command that is sent now. */
async function lastEvents(
  { client, call }: Connection,
  mark: EventEmitter | undefined,
): Promise<void> {
  if (mark) {
    const seen = once(mark, 'seen', { signal: limit(MARK_MS) }).catch(() => {});
    const isSent = await client.invoke(null, 'ping', {}, call()).then(
      () => true,
      () => false,
    );
    if (isSent) return void (await seen);
  }
  // A filter would keep the mark away, and so would a token that may not send it.
  await delay(NO_MARK_MS);
}

function isMark(event: StreamEvent): boolean {
  if (event.event !== 'log') return false;
  const { data } = event;
  return data.scope === 'dispatch' && data.session_id === null && data.message.startsWith('ping ');
}
