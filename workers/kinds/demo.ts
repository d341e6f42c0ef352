// Runs in bot hosts. A bot that plays in the bundled demo world: logs in over HTTP, then speaks the line protocol.

import { type BotContext, defineBot, type LineConnection, Type } from '../../src/bot-sdk/index.js';
import {
  describe,
  encode,
  MAX_LINE_BYTES,
  parse,
  type WorldMessage,
} from '../../src/kinds/demo-world/protocol.js';

/** Average interval at which a demo bot moves or speaks, in ms. */
const IDLE_MS = 5000;
/** Timeout of a command, in ms. */
const ANSWER_MS = 5000;

interface Player {
  connection: LineConnection | undefined;
  /** Commands that wait for a message from the world. */
  waiting: Set<(message: WorldMessage) => void>;
}

interface Login {
  ticket: string;
  host: string;
  port: number;
}

const GREETINGS = ['hello there', 'lovely weather', 'anyone up for a walk?', 'mind the sheep'];

type Context = BotContext<{ world_url: string }, Player>;

export default defineBot({
  kind: 'demo',
  description: 'Plays in the bundled demo world.',
  config: Type.Object(
    {
      world_url: Type.String({
        description: 'HTTP address of the demo world; by default the one that this service runs.',
      }),
    },
    { additionalProperties: false },
  ),
  state: (): Player => ({ connection: undefined, waiting: new Set() }),
  commands: {
    say: {
      description: 'Says something to everybody near.',
      args: Type.Object(
        { text: Type.String({ minLength: 1, maxLength: 200 }) },
        { additionalProperties: false },
      ),
      async run(ctx, { text }) {
        const { attributes } = await ask(
          ctx,
          { name: 'Say', attributes: { text } },
          // Not what it says by itself meanwhile.
          ({ name, attributes }) =>
            name === 'Chat' && attributes['from'] === ctx.id && attributes['text'] === text,
        );
        return { said: attributes['text'] ?? '' };
      },
    },
    move: {
      description: 'Walks to a place.',
      args: Type.Object(
        {
          x: Type.Integer({ minimum: 0, maximum: 99 }),
          y: Type.Integer({ minimum: 0, maximum: 99 }),
        },
        { additionalProperties: false },
      ),
      async run(ctx, { x, y }) {
        await ask(
          ctx,
          { name: 'Move', attributes: { x: String(x), y: String(y) } },
          ({ name, attributes }) => name === 'Moved' && attributes['name'] === ctx.id,
        );
        return { x, y };
      },
    },
  },

  async run(ctx) {
    ctx.setStatus('authenticating');
    const { ticket, host, port } = await logIn(ctx);
    ctx.setStatus('connecting');
    const connection = await ctx.connectLines({
      host,
      port,
      maxLineBytes: MAX_LINE_BYTES,
      describe: (line) => describe(parse(line)),
    });
    ctx.state.connection = connection;
    await send(connection, { name: 'Login', attributes: { name: ctx.id, ticket } });
    for await (const line of connection) await receive(ctx, connection, parse(line));
    throw new Error('the world closed the connection');
  },
});

async function logIn(ctx: Context): Promise<Login> {
  const log = ctx.log.scope('auth_client');
  log.info(`logging in as ${ctx.id}`);
  const response = await ctx.fetch(new URL('/login', ctx.config.world_url), {
    scope: 'auth_client',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: ctx.id }),
  });
  if (!response.ok) throw new Error(`the login was refused with status ${response.status}`);
  const login = (await response.json()) as Login;
  log.info(`logged in, the world is at ${login.host}:${login.port}`);
  return login;
}

async function receive(
  ctx: Context,
  connection: LineConnection,
  message: WorldMessage,
): Promise<void> {
  for (const waiter of ctx.state.waiting) waiter(message);
  const { name, attributes } = message;
  switch (name) {
    case 'Welcome':
      ctx.updateData(position(attributes));
      return ctx.setStatus('tutorial');
    case 'TutorialStep':
      ctx.log
        .scope('tutorial')
        .info(`step ${attributes['step']} of ${attributes['of']}: ${attributes['text']}`);
      return send(connection, tutorialAnswer(attributes['step'] ?? ''));
    case 'TutorialDone':
      ctx.log.scope('tutorial').info('done');
      ctx.setStatus('in_world');
      // Jitter, so that the bots do not all act at once.
      ctx.every(IDLE_MS * (0.75 + Math.random() / 2), () => send(connection, somethingToDo()));
      return;
    case 'Moved':
      if (attributes['name'] === ctx.id) ctx.updateData(position(attributes));
      return;
    case 'Error':
      ctx.log.warn(`the world says: ${attributes['message']}`);
      return;
    default:
  }
}

function tutorialAnswer(step: string): WorldMessage {
  if (step === '1') return { name: 'Look', attributes: {} };
  if (step === '2') return { name: 'Move', attributes: { x: '1', y: '1' } };
  return { name: 'Say', attributes: { text: 'hello' } };
}

function somethingToDo(): WorldMessage {
  if (Math.random() < 0.5) {
    return { name: 'Say', attributes: { text: GREETINGS[random(GREETINGS.length)] ?? 'hello' } };
  }
  return { name: 'Move', attributes: { x: String(random(100)), y: String(random(100)) } };
}

function position(attributes: WorldMessage['attributes']): { x: number; y: number } {
  return { x: Number(attributes['x']), y: Number(attributes['y']) };
}

function random(below: number): number {
  return Math.floor(Math.random() * below);
}

function send(connection: LineConnection, message: WorldMessage): Promise<void> {
  return connection.send(encode(message));
}

/** Sends a message and resolves with the first one that answers it. Rejects with the world's next error. */
async function ask(
  ctx: Context,
  message: WorldMessage,
  answers: (message: WorldMessage) => boolean,
): Promise<WorldMessage> {
  const { connection, waiting } = ctx.state;
  if (!connection) throw new Error('the bot is not in the world yet');
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      waiting.delete(waiter);
      clearTimeout(timeout);
    };
    const waiter = (received: WorldMessage): void => {
      if (answers(received)) resolve(received);
      else if (received.name === 'Error') reject(new Error(received.attributes['message']));
      else return;
      settle();
    };
    const timeout = setTimeout(() => {
      settle();
      reject(new Error('the world did not answer'));
    }, ANSWER_MS);
    waiting.add(waiter);
    send(connection, message).catch((thrown: unknown) => {
      settle();
      reject(thrown instanceof Error ? thrown : new Error(String(thrown)));
    });
  });
}
