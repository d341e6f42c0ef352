// Runs in bot hosts. A bot kind whose lines differ as those of real bots do: how well they compress depends on it.

import { setImmediate } from 'node:timers/promises';
import { defineBot, Type } from '../../src/bot-sdk/index.js';

/** Interval between two batches of lines, in ms. */
const TICK_MS = 20;
/** Lines per turn of the event loop. */
const BURST = 2000;
/** Lines that are made before the load, so that making them is not part of it. Many more than a block has. */
const LINES = 16_384;

const WORDS =
  'north south harbour market bridge garden tower river castle forest meadow station square gate wall road hill lake island field'.split(
    ' ',
  );

/** The data of a mixed bot has less. */
const MOST_GOLD = 1000;

/** Of a mixed bot's line: one in a hundred is a warning, one in a thousand an error. */
function levelOf(number: number): 'info' | 'warn' | 'error' {
  if (number % 1000 === 0) return 'error';
  return number % 100 === 0 ? 'warn' : 'info';
}

/** One of six forms of text, with words and numbers from `random`. */
function line(random: () => number): string {
  const below = (limit: number): number => Math.floor(random() * limit);
  const word = (): string => WORDS[below(WORDS.length)] as string;
  switch (below(6)) {
    case 0:
      return `moved to ${below(1000)}, ${below(1000)} near the ${word()} ${word()}`;
    case 1:
      return `heard player-${below(5000)} say: ${word()} ${word()} ${word()} ${word()}`;
    case 2:
      return `picked up ${1 + below(9)} x ${word()} ${word()}, the bag has ${below(64)} of 64`;
    case 3:
      return `trade ${below(1_000_000)}: sold ${word()} for ${below(10_000)} coins to trader-${below(300)}`;
    case 4:
      return `path to the ${word()} recalculated in ${below(90)} ms, ${below(400)} steps`;
    default:
      return `health ${below(100)}/100, hunger ${below(20)}/20, level ${below(60)}, at ${word()}`;
  }
}

/** The same numbers for each bot of a name. */
function randomOf(seed: string): () => number {
  let state = 0x9e37_79b9;
  for (const char of seed) state = Math.imul(state ^ char.charCodeAt(0), 0x85eb_ca6b);
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

let lines: readonly string[] | undefined;

/** One pool for all bots of a host. */
function pool(): readonly string[] {
  const random = randomOf('bench');
  lines ??= Array.from({ length: LINES }, () => line(random));
  return lines;
}

export default defineBot({
  kind: 'bench-talk',
  description: 'Makes lines of six forms at a given rate.',
  config: Type.Object(
    {
      events_per_second: Type.Integer({ minimum: 0 }),
      mixed: Type.Optional(
        Type.Boolean({ description: 'With data, and some lines of other levels than info.' }),
      ),
    },
    { additionalProperties: false },
  ),
  commands: {
    echo: {
      description: 'Returns its argument: only the way to the bot and back.',
      args: Type.Object({ text: Type.String() }, { additionalProperties: false }),
      run: (_, { text }) => ({ said: text }),
    },
  },
  async run(ctx) {
    const { events_per_second: rate, mixed = false } = ctx.config;
    const texts = pool();
    // Bots are at different places of the pool.
    const place = randomOf(ctx.id)();
    let at = Math.floor(place * LINES);
    ctx.setStatus('running');
    if (mixed) ctx.updateData({ gold: Math.floor(place * MOST_GOLD) });
    const start = performance.now();
    let sent = 0;
    while (!ctx.signal.aborted && rate > 0) {
      const owed = Math.floor(((performance.now() - start) / 1000) * rate) - sent;
      for (let n = Math.min(owed, BURST); n > 0; n--) {
        sent += 1;
        ctx.log[mixed ? levelOf(sent) : 'info'](texts[at++ % LINES]);
      }
      if (owed > BURST) await setImmediate();
      else await ctx.sleep(Math.max(TICK_MS, 1000 / rate));
    }
    while (!ctx.signal.aborted) await ctx.sleep(60_000);
  },
});
