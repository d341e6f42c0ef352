// Owns the servers of the HTTP bench, which start and stop together.

import { Drover } from '../harness/drover.js';
import { benchScript } from '../harness/paths.js';
import { Server } from '../harness/server.js';
import { ask, LIST, type Target } from './routes.js';

export const SUBJECT = 'drover';
export const BARE = 'uws-bare';
export const BARE_AGAIN = 'uws-bare again';
export const NODE = 'node-http';

/** The compared servers: all running, one under load at a time. */
export interface Fleet {
  drover: Drover;
  /** In the order of the first round. */
  members: readonly { server: Server; target: Target }[];
  stop(): Promise<string>;
}

/** Starts the service with this many silent bots, then the controls, whose responses have the same size. */
export async function startFleet(bots: number): Promise<Fleet> {
  const drover = await Drover.start(SUBJECT, { hosts: { count: 1 } });
  const controls: Server[] = [];
  const stop = async () => {
    const [ended] = await Promise.all([drover.stop(), ...controls.map((server) => server.stop())]);
    return ended;
  };
  try {
    await drover.createSyntheticBots(bots, { events_per_second: 0, message_bytes: 0 });
    const botsBytes = await sizeOfList(drover, bots);
    const args = ['--token', drover.token, '--bots-bytes', String(botsBytes)];
    for (const [name, script] of [
      [BARE, 'controls/uws-bare.js'],
      [NODE, 'controls/node-http.js'],
      [BARE_AGAIN, 'controls/uws-bare.js'],
    ] as const) {
      controls.push(await Server.start({ name, script: benchScript(script), args, linked: true }));
    }
    const [bare, node, bareAgain] = controls as [Server, Server, Server];
    const { token, wrongPin } = drover;
    const members = [bare, drover.server, node, bareAgain].map((server) => ({
      server,
      target: { url: server.url, token, wrongPin, botsBytes },
    }));
    return { drover, members, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function sizeOfList(drover: Drover, bots: number): Promise<number> {
  const { url } = drover.server;
  const target = { url, token: drover.token, wrongPin: drover.wrongPin, botsBytes: 0 };
  const { text } = await ask(LIST, target);
  const list = JSON.parse(text) as { bots: unknown[] };
  if (list.bots.length !== bots) throw new Error(`${list.bots.length} of ${bots} bots are listed`);
  return Buffer.byteLength(text);
}
