// Runs in the command line. Owns `drover wait`: until a bot has a status, or the service answers.

import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { ApiError, type BotSnapshot, DroverClient } from '../../client/index.js';
import {
  type ConnectionOptions,
  connect,
  givenUrl,
  limit,
  targetOf,
  withConnection,
} from '../connection/connection.js';
import { StreamWatch } from '../connection/stream-watch.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { showDuration } from '../flags/duration.js';
import { duration, list } from '../flags/flag-values.js';
import { stopSignal } from '../stop-signals.js';
import { action } from '../terminal/action.js';
import { print, printJson, safeText } from '../terminal/output.js';
import { elapsed, followProgress } from '../terminal/progress.js';

const AGAIN_MS = 200;

interface WaitOptions extends ConnectionOptions {
  status?: string[];
  timeout: number;
  json?: true;
}

export function addWait(program: Command): void {
  withConnection(program.command('wait'), { timeout: false })
    .description('wait until a bot has a status; without a bot, until the service answers')
    .argument('[bot]')
    .option('--status <status>', 'one of these; several comma-separated or repeated', list)
    .addOption(
      new Option('--timeout <time>', 'then it fails').argParser(duration).default(30_000, '30s'),
    )
    .option(
      '--json',
      'the snapshot of the bot as JSON; of the service its address, and after how many ms',
    )
    .action(action(wait));
}

async function wait(bot: string | undefined, options: WaitOptions): Promise<undefined> {
  const { status: wanted = [], timeout } = options;
  if (bot === undefined) {
    if (wanted.length > 0)
      throw new CliError(EXIT.usage, '--status is of a bot, and none was named');
    await waitForService(options);
    return;
  }
  if (wanted.length === 0) throw new CliError(EXIT.usage, 'say what to wait for, with --status');
  const { client } = connect(options);
  const began = performance.now();
  const late = limit(timeout);
  // There may be no such bot; a stream would say nothing of that.
  await client.bots.get(bot, { signal: late });
  let last: BotSnapshot | undefined;
  const seen = new StreamWatch();
  const stream = client.stream({
    session: [bot],
    kind: ['session'],
    signal: late,
    onState: seen.onState,
  });
  followProgress(() => {
    const is = last === undefined ? '' : `, it is ${safeText(last.status)}`;
    return `waiting for ${bot} to be ${wanted.join(' or ')}${is}: ${elapsed(began, timeout)}`;
  });
  for await (const event of stream) {
    if (event.event !== 'session') continue;
    last = event.data.snapshot;
    if (wanted.includes(last.status)) {
      if (options.json) await printJson(last);
      else await print(`${bot} ${last.status} after ${showDuration(performance.now() - began)}\n`);
      return;
    }
    if (last.status === 'deleted') throw new CliError(EXIT.not_found, `${bot} was deleted`);
    if (last.status === 'failed') {
      throw new CliError(
        EXIT.failed,
        `${bot} has failed: ${last.last_error ?? 'no reason is known'}`,
      );
    }
  }
  stopSignal.throwIfAborted();
  const what = `${bot} was not ${wanted.join(' or ')} within ${showDuration(timeout)}`;
  if (seen.disconnects > 0 && seen.blind !== null) {
    throw new CliError(EXIT.no_service, `${what}; ${seen.blind}`);
  }
  const is = last === undefined ? 'nothing came of it' : `it is ${last.status}`;
  throw new CliError(EXIT.timeout, `${what}; ${is}`);
}

async function waitForService(options: WaitOptions): Promise<void> {
  const url = givenUrl(options) ?? targetOf(options).url;
  const client = new DroverClient({ url });
  const began = performance.now();
  const late = limit(options.timeout);
  followProgress(() => `waiting for ${url}: ${elapsed(began, options.timeout)}`);
  for (;;) {
    try {
      await client.health({ signal: late });
      const afterMs = performance.now() - began;
      if (options.json) await printJson({ url, after_ms: Math.round(afterMs) });
      else await print(`${url} answers after ${showDuration(afterMs)}\n`);
      return;
    } catch (thrown) {
      stopSignal.throwIfAborted();
      if (late.aborted) {
        const message = `no service answered at ${url} within ${showDuration(options.timeout)}`;
        throw new CliError(EXIT.timeout, message);
      }
      if (!(thrown instanceof ApiError && thrown.isPassing)) throw thrown;
    }
    await delay(AGAIN_MS, undefined, { signal: late }).catch(() => {});
  }
}
