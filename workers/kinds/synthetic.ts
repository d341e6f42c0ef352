// Runs in bot hosts. A bot for load tests: lines at a given rate and of a given length.

import { setImmediate } from 'node:timers/promises';
import { defineBot, Type } from '../../src/bot-sdk/index.js';

/** Shortest interval between two batches of lines, in ms. */
const TICK_MS = 10;
/** Longest wait, in ms: timers cannot wait longer than 24 days. */
const SILENT_MS = 3_600_000;
/** Lines per turn of the event loop, so that the host's other bots and its control channel run in between. */
const BURST = 2000;

export default defineBot({
  kind: 'synthetic',
  description: 'Makes lines at a given rate, for load tests.',
  config: Type.Object(
    {
      events_per_second: Type.Integer({
        minimum: 0,
        maximum: 10_000_000,
        default: 1,
        description: 'Lines per second; 0 makes none.',
      }),
      message_bytes: Type.Integer({
        minimum: 0,
        maximum: 65_536,
        default: 100,
        description: 'Length of each message in bytes, at least that of its number.',
      }),
    },
    { additionalProperties: false },
  ),
  async run(ctx) {
    const { events_per_second: rate, message_bytes: length } = ctx.config;
    const filler = 'x'.repeat(length);
    ctx.setStatus('running');
    const start = performance.now();
    let sent = 0;
    while (!ctx.signal.aborted) {
      const owed = Math.floor(((performance.now() - start) / 1000) * rate) - sent;
      for (let n = Math.min(owed, BURST); n > 0; n--) {
        const number = `${++sent} `;
        ctx.log.info(number + filler.slice(number.length));
      }
      // A timer of 0 waits for 1 ms; a bot that is behind continues in the next turn of the event loop.
      if (owed > BURST) await setImmediate();
      else await ctx.sleep(Math.min(SILENT_MS, Math.max(TICK_MS, 1000 / rate)));
    }
  },
});
