// Runs in bot hosts. A bot on an IRC server, on irc-framework.

import type { Client } from 'irc-framework';
import {
  type BotContext,
  BotError,
  defineBot,
  type Static,
  Type,
} from '../../src/bot-sdk/index.js';
import { IrcSession } from '../../src/kinds/irc/irc-session.js';

/** A connection that was online for this long, in ms, resets the count of attempts. */
const STABLE_MS = 60_000;

/** One line: no CR, LF or NUL. */
const line = { pattern: '^[^\\r\\n\\u0000]+$' };
/** One word that is valid anywhere in an IRC line. */
const word = { pattern: '^[^\\s\\u0000:,][^\\s\\u0000,]*$', maxLength: 64 };
const channel = {
  pattern: '^[#&+!][^\\s\\u0000\\u0007,]*$',
  maxLength: 200,
  description: 'Name of a channel, for example #drover.',
};
const closed = { additionalProperties: false };
/** A change of it sends the passwords to the same server. */
const sameServer = { redirects: false };

const Config = Type.Object(
  {
    host: Type.String({ minLength: 1, description: 'Name or address of the server.' }),
    port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description: '6667 when left out, 6697 with TLS.',
      }),
    ),
    tls: Type.Boolean({ default: false }),
    tls_verify: Type.Boolean({
      default: true,
      description: "Whether the server's certificate must be valid.",
    }),
    nick: Type.String({ ...word, ...sameServer }),
    username: Type.String({ ...word, ...sameServer, default: 'drover' }),
    realname: Type.String({ ...line, ...sameServer, maxLength: 100, default: 'Drover bot' }),
    password: Type.Optional(
      Type.String({
        ...line,
        ...sameServer,
        writeOnly: true,
        description: "The server's password.",
      }),
    ),
    sasl: Type.Optional(
      Type.Object(
        {
          account: Type.String({ minLength: 1 }),
          password: Type.String({ minLength: 1, writeOnly: true }),
        },
        {
          ...closed,
          ...sameServer,
          writeOnly: true,
          description: 'Logs in with SASL PLAIN, or not at all.',
        },
      ),
    ),
    channels: Type.Array(Type.String(channel), {
      ...sameServer,
      default: [],
      maxItems: 100,
      description: 'Joined at once, and after each reconnect.',
    }),
    reconnect: Type.Object(
      {
        attempts: Type.Integer({
          minimum: 0,
          maximum: 1000,
          default: 10,
          description:
            'Attempts in a row. After that the run fails, and the restart policy decides.',
        }),
        wait_ms: Type.Integer({
          minimum: 100,
          default: 1000,
          description:
            'Wait before the first attempt, in ms; doubled for each further one, give or take a half.',
        }),
        max_wait_ms: Type.Integer({ minimum: 100, default: 60_000 }),
      },
      { ...closed, ...sameServer, default: {} },
    ),
  },
  closed,
);

interface State {
  /** Undefined while there is no connection. */
  session: IrcSession | undefined;
  /** Set by a command, for the next connection. */
  nick: string | undefined;
  channels: Set<string>;
}

type Context = BotContext<Static<typeof Config>, State>;

export default defineBot({
  kind: 'irc',
  description: 'Is on an IRC server.',
  config: Config,
  state: (): State => ({ session: undefined, nick: undefined, channels: new Set() }),
  commands: {
    say: {
      description: 'Says a line in a channel or to somebody; a long one goes out in pieces.',
      args: Type.Object(
        {
          target: Type.String({ ...word, maxLength: 200 }),
          text: Type.String({ ...line, maxLength: 2000 }),
        },
        closed,
      ),
      async run(ctx, { target, text }) {
        await online(ctx).say(target, text);
        // Without the text: results are shown on the stream, and it may be a password for NickServ.
        return { target };
      },
    },
    join: {
      description: 'Joins a channel, also after a reconnect.',
      args: Type.Object({ channel: Type.String(channel) }, closed),
      async run(ctx, { channel }) {
        await online(ctx).join(channel);
        ctx.state.channels.add(channel);
        return { channel };
      },
    },
    part: {
      description: 'Leaves a channel.',
      args: Type.Object(
        {
          channel: Type.String(channel),
          reason: Type.Optional(Type.String({ ...line, maxLength: 300 })),
        },
        closed,
      ),
      async run(ctx, { channel, reason }) {
        const lower = channel.toLowerCase();
        await online(ctx).part(channel, reason);
        for (const name of ctx.state.channels) {
          if (name.toLowerCase() === lower) ctx.state.channels.delete(name);
        }
        return { channel };
      },
    },
    nick: {
      description: 'Changes the nick.',
      args: Type.Object({ nick: Type.String(word) }, closed),
      async run(ctx, { nick }) {
        await online(ctx).changeNick(nick);
        ctx.state.nick = nick;
        return { nick };
      },
    },
  },

  /**
   * Reconnects without a restart, because the loss of a server is not the bot's fault: channels and nick stay, and no
   * restart is counted. After the last attempt the restart policy decides.
   */
  async run(ctx) {
    // Loaded here because it costs every host 0.1 s and 12 MB, also one without irc bots.
    const { default: framework } = await import('irc-framework');
    const { attempts, wait_ms, max_wait_ms } = ctx.config.reconnect;
    ctx.state.channels = new Set(ctx.config.channels);
    let failed = 0;
    for (;;) {
      const { reason, wasStable } = await live(ctx, framework.Client);
      if (ctx.signal.aborted) return;
      if (reason instanceof BotError && !reason.restart) throw reason;
      failed = wasStable ? 1 : failed + 1;
      if (failed > attempts) throw reason;
      // Jitter, so that the bots of a server do not reconnect at once.
      const jitter = 0.5 + Math.random();
      const wait = Math.round(Math.min(max_wait_ms, wait_ms * 2 ** (failed - 1)) * jitter);
      ctx.setStatus('reconnecting');
      const log = ctx.log.scope('irc');
      log.warn(`${reason.message}; attempt ${failed} of ${attempts} to reconnect in ${wait} ms`);
      await ctx.sleep(wait);
    }
  },
});

/** One connection, from connecting to its loss. */
async function live(
  ctx: Context,
  Framework: typeof Client,
): Promise<{ reason: Error; wasStable: boolean }> {
  const { host, tls, password, sasl, ...config } = ctx.config;
  const { port = tls ? 6697 : 6667, tls_verify: tlsVerify } = config;
  const nick = ctx.state.nick ?? config.nick;
  const { username, realname } = config;
  ctx.setStatus('connecting');
  const session = new IrcSession(
    Framework,
    ctx,
    { host, port, tls, tlsVerify },
    { nick, username, realname, password, sasl },
  );
  ctx.state.session = session;
  let onlineAt = Number.POSITIVE_INFINITY;
  try {
    await session.open();
    ctx.setStatus('joining');
    await joinAll(ctx, session);
    ctx.setStatus('online');
    onlineAt = performance.now();
    return await session.lost;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown : new Error(String(thrown));
    return { reason, wasStable: performance.now() - onlineAt > STABLE_MS };
  } finally {
    ctx.state.session = undefined;
    session.close();
  }
}

/** A channel that cannot be joined does not affect the others. */
async function joinAll(ctx: Context, session: IrcSession): Promise<void> {
  for (const channel of ctx.state.channels) {
    try {
      await session.join(channel);
    } catch (thrown) {
      if (!session.isRegistered) throw thrown;
      ctx.log.scope('irc').warn(`cannot join ${channel}: ${String(thrown)}`);
    }
  }
}

function online(ctx: Context): IrcSession {
  const { session } = ctx.state;
  if (!session) throw new BotError('not connected to the server');
  return session;
}
