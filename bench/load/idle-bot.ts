// Runs in bot hosts. A bot kind that is as large as a demo bot in its world, and silent.

import { defineBot, type LineConnection, Type } from '../../src/bot-sdk/index.js';

/** A timer like that of a demo bot, but never due, in ms. */
const NEVER_MS = 3_600_000;

interface Player {
  connection: LineConnection | undefined;
  waiting: Set<(line: string) => void>;
}

export default defineBot({
  kind: 'bench-idle',
  description: 'Does nothing, with everything that a demo bot has.',
  config: Type.Object(
    {
      port: Type.Integer({
        description: 'Port of a silent server on 127.0.0.1; 0 for no connection.',
      }),
    },
    { additionalProperties: false },
  ),
  state: (): Player => ({ connection: undefined, waiting: new Set() }),
  commands: {
    echo: {
      description: 'Returns its argument: only the way to the bot and back.',
      args: Type.Object({ text: Type.String() }, { additionalProperties: false }),
      run: (_, { text }) => ({ said: text }),
    },
  },
  async run(ctx) {
    const { port } = ctx.config;
    if (port > 0) {
      ctx.state.connection = await ctx.connectLines({
        host: '127.0.0.1',
        port,
        describe: () => null,
      });
    }
    ctx.updateData({ x: 1, y: 1 });
    ctx.setStatus('in_world');
    ctx.every(NEVER_MS, () => {});
    if (ctx.state.connection) {
      for await (const line of ctx.state.connection) {
        for (const waiter of ctx.state.waiting) waiter(line);
      }
      throw new Error('the server closed the connection');
    }
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }));
  },
});
