// Owns the servers whose streams are compared, and starts their load.

import { FRAME_START } from '../../src/shared/stream/frame.js';
import { ask } from '../harness/ask.js';
import { Drover, type Settings, type Where } from '../harness/drover.js';
import { benchScript } from '../harness/paths.js';
import { Server } from '../harness/server.js';
import type { StreamTarget } from '../load/swarm-jobs.js';

export const SUBJECT = 'drover';
/** The service on its other engine. */
export const ON_NODE = 'drover-node';
/** The service of another commit. */
export const BEFORE = 'before';
export const BARE = 'uws-bare';
export const BARE_AGAIN = 'uws-bare again';
/** Collects lines until a piece is large. */
export const LARGE = 'uws-large';
export const NODE = 'node-shared';
export const BETTER_SSE = 'better-sse';

/** Lines per second, and how a control writes them: each separately, or those of a tick together. */
export interface StreamLoad {
  rate: number;
  messageBytes: number;
  form: 'batched' | 'unbatched';
  /** Number of bots that make the lines together: `load-00000`, `load-00001`, … One bot with changing names if not given. */
  bots?: number;
}

/** A server with streams that generates its own load. */
export interface Feed {
  name: string;
  server: Server;
  target: StreamTarget;
  start(load: StreamLoad): Promise<void>;
  /** Ends the load; the last event has the scope `dispatch`. */
  stop(): Promise<void>;
  /** Ends the process. */
  close(): Promise<string>;
}

export type DroverFeed = Feed & { drover: Drover };

export async function droverFeed(
  name = SUBJECT,
  settings: Settings = {},
  where: Where = {},
): Promise<DroverFeed> {
  // No limits: a bench intends to fill the server.
  const unlimited = { pressure: { max_cpu: 1 }, ...settings };
  const drover = await Drover.start(name, unlimited, where);
  const { server, authorization } = drover;
  let loads = 0;
  let ids: string[] = [];
  return {
    name,
    drover,
    server,
    target: {
      url: server.url,
      path: '/events?snapshot=0',
      authorization,
      frameStart: FRAME_START,
    },
    start({ rate, messageBytes, bots }) {
      ids =
        bots === undefined
          ? [`load-${++loads}`]
          : Array.from({ length: bots }, (_, n) => `load-${String(n).padStart(5, '0')}`);
      const config = { events_per_second: rate / ids.length, message_bytes: messageBytes };
      return drover.forEach(ids, (id) => drover.createSyntheticBot(id, config));
    },
    async stop() {
      await drover.forEach(ids, (id) => drover.deleteBot(id));
      await drover.ping();
    },
    close: () => drover.stop(),
  };
}

/** Paths of PEM files. */
interface Certificate {
  cert: string;
  key: string;
}

interface Control {
  script: string;
  frameStart: string;
  /** Its form of a batched load. */
  batched?: string;
}

const BARE_SCRIPT = { script: 'controls/streams-uws.js', frameStart: FRAME_START };
const CONTROLS: Record<string, Control> = {
  [BARE]: BARE_SCRIPT,
  [BARE_AGAIN]: BARE_SCRIPT,
  [LARGE]: { ...BARE_SCRIPT, batched: 'large' },
  [NODE]: { script: 'controls/streams-node.js', frameStart: FRAME_START },
  [BETTER_SSE]: { script: 'controls/streams-better-sse.js', frameStart: 'event:' },
};

/** @param certificate for TLS, which `better-sse` does not have. */
export async function controlFeed(name: string, certificate?: Certificate): Promise<Feed> {
  const control = CONTROLS[name];
  if (control === undefined) throw new Error(`there is no control ${name}`);
  const script = benchScript(control.script);
  const args = certificate ? ['--cert', certificate.cert, '--key', certificate.key] : [];
  const server = await Server.start({ name, script, args, linked: true });
  const post = async (path: string) => {
    await ask(server.url, path, { method: 'POST' });
  };
  return {
    name,
    server,
    target: {
      url: server.url,
      path: '/events',
      authorization: 'Bearer none',
      frameStart: control.frameStart,
    },
    start: ({ rate, messageBytes, form: wanted, bots = 1 }) => {
      const form = wanted === 'batched' ? (control.batched ?? wanted) : wanted;
      return post(`/load?rate=${rate}&bytes=${messageBytes}&form=${form}&sources=${bots}`);
    },
    stop: () => post('/stop'),
    close: () => server.stop(),
  };
}

/** Starts feeds; if one fails to start, stops the others. */
export async function startFeeds(starters: readonly (() => Promise<Feed>)[]): Promise<Feed[]> {
  const feeds: Feed[] = [];
  try {
    for (const start of starters) feeds.push(await start());
    return feeds;
  } catch (error) {
    await closeFeeds(feeds);
    throw error;
  }
}

export async function closeFeeds(feeds: readonly Feed[]): Promise<void> {
  await Promise.all(feeds.map((feed) => feed.close()));
}
