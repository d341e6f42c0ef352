// Owns the servers of the HTTP bench, which start and stop together.

import { Drover } from '../harness/drover.js';
import { benchScript } from '../harness/paths.js';
import { Server } from '../harness/server.js';
import { sizeOfList, type Target } from './routes.js';

export const SUBJECT = 'drover';
export const BARE = 'uws-bare';
export const BARE_AGAIN = 'uws-bare again';
export const NODE = 'node-http';
/** The service on node:http. */
export const ON_NODE = 'drover-node';

/** The compared servers: all running, one under load at a time. */
export interface Fleet {
  drover: Drover;
  /** In the order of the first round. */
  members: readonly { server: Server; target: Target }[];
  stop(): Promise<string>;
}

/** Starts the service with this many silent bots, on both engines, then the controls, whose responses have the same size. */
export async function startFleet(bots: number): Promise<Fleet> {
  const drover = await Drover.start(SUBJECT, { hosts: { count: 1 } });
  const onNode = await Drover.start(ON_NODE, { engine: 'node', hosts: { count: 1 } });
  const controls: Server[] = [];
  const stop = async () => {
    const [ended] = await Promise.all([
      drover.stop(),
      onNode.stop(),
      ...controls.map((server) => server.stop()),
    ]);
    return ended;
  };
  try {
    for (const service of [drover, onNode]) {
      await service.createSyntheticBots(bots, { events_per_second: 0, message_bytes: 0 });
    }
    const botsBytes = await sizeOfList(targetOf(drover, 0), bots);
    const args = ['--token', drover.token, '--bots-bytes', String(botsBytes)];
    for (const [name, script] of [
      [BARE, 'controls/uws-bare.js'],
      [NODE, 'controls/node-http.js'],
      [BARE_AGAIN, 'controls/uws-bare.js'],
    ] as const) {
      controls.push(await Server.start({ name, script: benchScript(script), args, linked: true }));
    }
    const [bare, node, bareAgain] = controls as [Server, Server, Server];
    const target = targetOf(drover, botsBytes);
    const control = (server: Server) => ({ server, target: { ...target, url: server.url } });
    const members = [
      control(bare),
      { server: drover.server, target },
      { server: onNode.server, target: targetOf(onNode, botsBytes) },
      control(node),
      control(bareAgain),
    ];
    return { drover, members, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function targetOf({ server, token, wrongPin }: Drover, botsBytes: number): Target {
  return { url: server.url, token, wrongPin, botsBytes };
}
