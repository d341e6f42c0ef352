// `drover bots move`: one bot to another node of a cluster.

import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type BotSnapshot } from '../../client/index.js';
import {
  type Connection,
  type ConnectionOptions,
  connect,
  limit,
} from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { showDuration } from '../flags/duration.js';
import { stopSignal } from '../stop-signals.js';
import { printJson, printLine } from '../terminal/output.js';
import { elapsed, followProgress } from '../terminal/progress.js';

const POLL_MS = 200;

export interface MoveOptions extends ConnectionOptions {
  to: string;
  wait: boolean;
  within: number;
  json?: true;
}

export async function moveBot(id: string, options: MoveOptions): Promise<undefined> {
  const connection = connect(options);
  const { client, call } = connection;
  const { node: from } = await client.bots.get(id, call());
  const moving = await client.bots.move(id, options.to, call());
  if (!options.wait) {
    if (options.json) await printJson({ moving });
    else await printLine(`${id} ${moving === 0 ? 'is on' : 'is moving to'} ${options.to}`);
    return;
  }
  const began = performance.now();
  followProgress(() => `${id} is moving to ${options.to}: ${elapsed(began, options.within)}`);
  const bot = await moved(connection, id, moving === 0 ? undefined : from, limit(options.within));
  stopSignal.throwIfAborted();
  if (bot === null) {
    const after = showDuration(options.within);
    throw new CliError(
      EXIT.timeout,
      `${id} is not on ${options.to} after ${after}; it is still moving`,
    );
  }
  if (bot.node !== options.to) {
    const why = `${options.to} no longer accepts it`;
    throw new CliError(EXIT.failed, `${id} is on ${bot.node} instead: ${why}`);
  }
  if (options.json) await printJson(bot);
  else await printLine(`${id} ${bot.status} on ${bot.node}`);
}

/** @returns the bot once another node has it; null at the deadline. */
async function moved(
  { client, call }: Connection,
  id: string,
  from: string | undefined,
  deadline: AbortSignal,
): Promise<BotSnapshot | null> {
  while (!deadline.aborted) {
    const bot = await client.bots.get(id, call()).catch((thrown: unknown) => {
      stopSignal.throwIfAborted();
      if (thrown instanceof ApiError && thrown.isPassing) return undefined;
      throw thrown;
    });
    if (bot && bot.node !== from) return bot;
    await delay(POLL_MS, undefined, { signal: deadline }).catch(() => {});
  }
  return null;
}
