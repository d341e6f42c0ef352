// Runs in bot hosts. A bot kind that is as large as a demo bot in its world, and silent.

import { defineBot, Type } from '../../src/bot-sdk/index.js';

/** A timer like that of a demo bot, but never due, in ms. */
const NEVER_MS = 3_600_000;

export default defineBot({
  kind: 'bench-idle',
  description: 'Does nothing, with the state, data and timer of a demo bot.',
  config: Type.Object({}, { additionalProperties: false }),
  state: () => ({ waiting: new Set<(line: string) => void>() }),
  commands: {
    echo: {
      description: 'Returns its argument: only the way to the bot and back.',
      args: Type.Object({ text: Type.String() }, { additionalProperties: false }),
      run: (_, { text }) => ({ said: text }),
    },
  },
  async run(ctx) {
    ctx.updateData({ x: 1, y: 1 });
    ctx.setStatus('in_world');
    ctx.every(NEVER_MS, () => {});
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }));
  },
});
