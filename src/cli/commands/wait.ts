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
import { printJson, printLine } from '../terminal/output.js';
import { elapsed, followProgress } from '../terminal/progress.js';

const POLL_MS = 200;

interface WaitOptions extends ConnectionOptions {
  status?: string[];
  timeout: number;
  json?: true;
}

export function addWait(program: Command): void {
  withConnection(program.command('wait'), { timeout: false })
    .description('wait until a bot has a status; without a bot, until the service answers')
    .argument('[bot]')
    .option(
      '--status <status>',
      'status to wait for; any of several (comma-separated or repeated)',
      list,
    )
    .addOption(
      new Option('--timeout <time>', 'fail after this time')
        .argParser(duration)
        .default(30_000, '30s'),
    )
    .option(
      '--json',
      "print the bot's snapshot, or the service's address and the elapsed ms, as JSON",
    )
    .action(action(wait));
}

async function wait(bot: string | undefined, options: WaitOptions): Promise<undefined> {
  const { status: wanted = [], timeout } = options;
  if (bot === undefined) {
    if (wanted.length > 0) throw new CliError(EXIT.usage, '--status needs a bot');
    await waitForService(options);
    return;
  }
  if (wanted.length === 0)
    throw new CliError(EXIT.usage, 'add --status with the status to wait for');
  const { client } = connect(options);
  const began = performance.now();
  const deadline = limit(timeout);
  // Fails if there is no such bot; a stream would stay silent.
  await client.bots.get(bot, { signal: deadline });
  let last: BotSnapshot | undefined;
  const connection = new StreamWatch();
  const stream = client.stream({
    session: [bot],
    kind: ['session'],
    signal: deadline,
    onState: connection.onState,
  });
  followProgress(() => {
    const is = last === undefined ? '' : `, it is ${last.status}`;
    return `waiting for ${bot} to be ${wanted.join(' or ')}${is}: ${elapsed(began, timeout)}`;
  });
  for await (const event of stream) {
    if (event.event !== 'session') continue;
    last = event.data.snapshot;
    if (wanted.includes(last.status)) {
      if (options.json) await printJson(last);
      else
        await printLine(`${bot} ${last.status} after ${showDuration(performance.now() - began)}`);
      return;
    }
    if (last.status === 'deleted') throw new CliError(EXIT.not_found, `${bot} was deleted`);
    if (last.status === 'failed') {
      throw new CliError(EXIT.failed, `${bot} failed: ${last.last_error ?? 'unknown reason'}`);
    }
  }
  stopSignal.throwIfAborted();
  const what = `${bot} was not ${wanted.join(' or ')} within ${showDuration(timeout)}`;
  if (connection.disconnects > 0 && connection.blind !== null) {
    throw new CliError(EXIT.no_service, `${what}; ${connection.blind}`);
  }
  const is = last === undefined ? 'its status was not received' : `it is ${last.status}`;
  throw new CliError(EXIT.timeout, `${what}; ${is}`);
}

async function waitForService(options: WaitOptions): Promise<void> {
  const url = givenUrl(options) ?? targetOf(options).url;
  const client = new DroverClient({ url });
  const began = performance.now();
  const deadline = limit(options.timeout);
  followProgress(() => `waiting for ${url}: ${elapsed(began, options.timeout)}`);
  for (;;) {
    try {
      await client.health({ signal: deadline });
      const afterMs = performance.now() - began;
      if (options.json) await printJson({ url, after_ms: Math.round(afterMs) });
      else await printLine(`${url} is up after ${showDuration(afterMs)}`);
      return;
    } catch (thrown) {
      stopSignal.throwIfAborted();
      if (deadline.aborted) {
        const message = `no service answered at ${url} within ${showDuration(options.timeout)}`;
        throw new CliError(EXIT.timeout, message);
      }
      if (!(thrown instanceof ApiError && thrown.isPassing)) throw thrown;
    }
    await delay(POLL_MS, undefined, { signal: deadline }).catch(() => {});
  }
}
