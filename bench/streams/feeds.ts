// Owns the servers whose streams are compared, and starts their load.

import { FRAME_START } from '../../src/shared/stream/frame.js';
import { Drover, type Settings } from '../harness/drover.js';
import { benchScript } from '../harness/paths.js';
import { Server } from '../harness/server.js';
import type { StreamTarget } from '../load/swarm-jobs.js';

export const SUBJECT = 'drover';
export const BARE = 'uws-bare';
export const BARE_AGAIN = 'uws-bare again';
export const NODE = 'node-shared';
export const BETTER_SSE = 'better-sse';

/** Lines per second, and how a control writes them: each separately, or those of a tick together. */
export interface StreamLoad {
  rate: number;
  messageBytes: number;
  form: 'batched' | 'unbatched';
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

export async function droverFeed(name = SUBJECT, settings: Settings = {}): Promise<DroverFeed> {
  // No limits: a bench intends to fill the server.
  const drover = await Drover.start(name, { pressure: { max_cpu: 1, max_queue: 1 }, ...settings });
  const { server, authorization } = drover;
  let loads = 0;
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
    start: ({ rate, messageBytes }) =>
      drover.createSyntheticBot(`load-${++loads}`, {
        events_per_second: rate,
        message_bytes: messageBytes,
      }),
    async stop() {
      await drover.deleteBot(`load-${loads}`);
      await drover.ping();
    },
    close: () => drover.stop(),
  };
}

const SCRIPTS: Record<string, { script: string; frameStart: string }> = {
  [BARE]: { script: 'controls/streams-uws.js', frameStart: FRAME_START },
  [BARE_AGAIN]: { script: 'controls/streams-uws.js', frameStart: FRAME_START },
  [NODE]: { script: 'controls/streams-node.js', frameStart: FRAME_START },
  [BETTER_SSE]: { script: 'controls/streams-better-sse.js', frameStart: 'event:' },
};

export async function controlFeed(name: string): Promise<Feed> {
  const control = SCRIPTS[name];
  if (control === undefined) throw new Error(`there is no control ${name}`);
  const script = benchScript(control.script);
  const server = await Server.start({ name, script, linked: true });
  const post = async (path: string) => {
    const response = await fetch(server.url + path, { method: 'POST' });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${name}: ${path} was answered ${response.status}`);
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
    start: ({ rate, messageBytes, form }) =>
      post(`/load?rate=${rate}&bytes=${messageBytes}&form=${form}`),
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
