import { defineBot, Type } from 'drover/bot-sdk';

export default defineBot({
  kind: 'NAME',
  description: 'Greets at intervals.',
  config: Type.Object(
    {
      greeting: Type.String({ default: 'hello' }),
      every_ms: Type.Integer({ minimum: 100, default: 1000 }),
    },
    { additionalProperties: false },
  ),
  state: () => ({ greeted: 0 }),
  commands: {
    greet: {
      description: 'Greets somebody now.',
      args: Type.Object({ name: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
      run(ctx, { name }) {
        const text = `${ctx.config.greeting}, ${name}`;
        ctx.log.info(text);
        return { text };
      },
    },
  },
  async run(ctx) {
    ctx.setStatus('greeting');
    while (!ctx.signal.aborted) {
      ctx.state.greeted += 1;
      ctx.updateData({ greeted: ctx.state.greeted });
      await ctx.sleep(ctx.config.every_ms);
    }
  },
});
