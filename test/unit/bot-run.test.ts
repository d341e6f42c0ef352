// Run by vitest. One run of a bot: what is shown of it and its end, and what it cannot do any more after that.

import { afterEach, describe, expect, it } from 'vitest';
import { BotLines } from '../../src/bot-host/bot-lines.js';
import { BotRun } from '../../src/bot-host/bot-run.js';
import type { Outbox } from '../../src/bot-host/outbox.js';
import { type BotDefinition, defineBot, type TSchema, Type } from '../../src/bot-sdk/index.js';
import type { Item } from '../../src/contract/events.js';

type Definition = Partial<BotDefinition<TSchema, unknown, Record<string, TSchema>>>;

const started: BotRun[] = [];
afterEach(async () => {
  for (const bot of started.splice(0)) {
    bot.stop();
    await bot.ended;
  }
});

function start(definition: Definition): { bot: BotRun; items: Item[] } {
  const kind = defineBot({
    kind: 'tried',
    config: Type.Object({}),
    run: (ctx) => ctx.sleep(2 ** 30),
    ...definition,
  });
  const items: Item[] = [];
  const outbox = {
    add: (item: Item) => items.push(item),
    hasRoom: () => true,
    flush: () => {},
  } as unknown as Outbox;
  const bot = new BotRun(kind, 'tried', 1, {}, outbox, new BotLines(outbox, 'tried', 0));
  started.push(bot);
  return { bot, items };
}

describe('a password in a URL', () => {
  const url = 'http://user:hunter2secret@127.0.0.1:1/';

  it('is neither in the error of a run nor in its stack', async () => {
    const { bot } = start({ run: async (ctx) => void (await ctx.fetch(url)) });
    const { error, stack } = await bot.ended;
    expect(error).toContain('http://***@127.0.0.1:1/');
    expect(stack).toContain('http://***@127.0.0.1:1/');
    expect(error + String(stack)).not.toMatch(/hunter2secret|user/);
  });

  it('is not in why a bot could not be started', () => {
    const state = () => {
      throw new Error(`cannot use ${url}`);
    };
    expect(() => start({ state })).toThrow('cannot use http://***@127.0.0.1:1/');
  });

  it('is hidden whole when an @ stands in it as it is', async () => {
    const run = () => {
      throw new Error('no http://user:hunter2@secret@host/, nor a@b');
    };
    expect((await start({ run }).bot.ended).error).toBe('no http://***@host/, nor a@b');
  });
});

describe('a timer', () => {
  it('that is made after the stop never fires', async () => {
    let go = (): void => {};
    const stopped = new Promise<void>((resolve) => {
      go = resolve;
    });
    const calls: string[] = [];
    let made = (): void => {};
    const late = new Promise<void>((resolve) => {
      made = resolve;
    });
    const { bot } = start({
      commands: {
        dawdle: {
          args: Type.Object({}),
          async run(ctx) {
            await stopped;
            ctx.every(1, () => void calls.push('every'))();
            ctx.every(1, () => void calls.push('every'));
            ctx.after(1, () => void calls.push('after'));
            made();
          },
        },
      },
    });
    const answer = bot.invoke('dawdle', {}, 60_000);
    bot.stop();
    await expect(answer).rejects.toThrow('has stopped');
    await bot.ended;
    go();
    await late;
    // Later than they would have fired.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(calls).toEqual([]);
  });

  it('does not wait longer than Node can', async () => {
    const { bot } = start({});
    await expect(bot.sleep(2 ** 31)).rejects.toThrow(RangeError);
    for (const ms of [2 ** 31, Number.POSITIVE_INFINITY, Number.NaN]) {
      expect(() => bot.every(ms, () => {})).toThrow(RangeError);
      expect(() => bot.after(ms, () => {})).toThrow(RangeError);
    }
    bot.after(2 ** 31 - 1, () => {})();
  });
});
