// Runs in bot hosts. A bot kind of the bench's own: as large as a demo bot that is in its world, and silent.

import { defineBot, type LineConnection, Type } from '../../src/bot-sdk/index.js';

/** Its one timer, in ms: there, as a demo bot's is, but never due. */
const NEVER_MS = 3_600_000;

interface Player {
  connection: LineConnection | undefined;
  waiting: Set<(line: string) => void>;
}

export default defineBot({
  kind: 'bench-idle',
  description: 'Does nothing, with all that a demo bot has.',
  config: Type.Object(
    {
      port: Type.Integer({ description: 'Of a silent server on 127.0.0.1; 0 for no connection.' }),
    },
    { additionalProperties: false },
  ),
  state: (): Player => ({ connection: undefined, waiting: new Set() }),
  commands: {
    echo: {
      description: 'Answers with what it was given: the way to a bot and back, and nothing else.',
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
