// A run of a bot without a host, for tests of what it does and publishes.

import { afterEach } from 'vitest';
import { BotLines } from '../../../src/bot-host/bot-lines.js';
import { BotRun } from '../../../src/bot-host/bot-run.js';
import type { BotFence } from '../../../src/bot-host/fence.js';
import type { Outbox } from '../../../src/bot-host/outbox.js';
import { type BotDefinition, defineBot, type TSchema, Type } from '../../../src/bot-sdk/index.js';
import type { Item } from '../../../src/shared/contract/events.js';
import type { JsonObject } from '../../../src/shared/contract/json.js';
import { secretStrings } from '../../../src/shared/contract/secrets.js';
import { NetworkRules } from '../../../src/shared/network-rules.js';
import { partial } from '../../harness/partial.js';

type Definition = Partial<BotDefinition<TSchema, unknown, Record<string, TSchema>>>;

const started: BotRun[] = [];
afterEach(async () => {
  for (const bot of started.splice(0)) {
    bot.stop();
    await bot.ended;
  }
});

/** An outbox that keeps what it is given. */
export function collector(): { items: Item[]; outbox: Outbox } {
  const items: Item[] = [];
  const outbox = partial<Outbox>({
    add: (item: Item) => items.push(item),
    hasRoom: () => true,
    flush: () => {},
  });
  return { items, outbox };
}

/** Starts a run, which ends with the test. */
export function start(
  definition: Definition,
  config: JsonObject = {},
  allow: string[] | null = null,
  linesPerSecond = 0,
  fence: BotFence | null = null,
): { bot: BotRun; items: Item[]; late: string[] } {
  const kind = defineBot({
    kind: 'tried',
    config: Type.Object({}),
    run: (ctx) => ctx.sleep(2 ** 30),
    ...definition,
  });
  const { items, outbox } = collector();
  const secrets = secretStrings(config, kind.config);
  const lines = new BotLines(outbox, 'tried', linesPerSecond, secrets);
  const late: string[] = [];
  const network = new NetworkRules(allow);
  const bot = new BotRun({
    kind,
    id: 'tried',
    number: 1,
    config,
    outbox,
    lines,
    network,
    reportLate: (error) => late.push(error),
    fence,
  });
  started.push(bot);
  return { bot, items, late };
}

/** The messages of its lines. */
export function messages(items: readonly Item[]): string[] {
  return items.flatMap((item) =>
    item.kind === 'log' ? [JSON.parse(item.message_json) as string] : [],
  );
}
