// Entry of the broadcaster thread: wiring only. It opens no socket and runs no bot code.

import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';
import { Broadcaster } from '../src/broadcaster/broadcaster.js';
import { HostPorts } from '../src/broadcaster/host-ports.js';
import { blockLater } from '../src/shared/block-loop.js';
import type { Batch } from '../src/shared/contract/batch.js';
import { Rpc, type Serves } from '../src/shared/contract/rpc.js';
import type {
  BroadcasterEvents,
  BroadcasterFrontMethods,
  BroadcasterMethods,
  BroadcasterStart,
  FrontBellMethods,
} from '../src/shared/contract/threads.js';
import { watchLag } from '../src/shared/lag-watch.js';
import { Counters } from '../src/shared/memory/counters.js';
import { InFlight } from '../src/shared/memory/in-flight.js';
import { nowRuns } from '../src/shared/turn.js';

if (!parentPort) throw new Error('workers/broadcaster runs in a worker thread only');
const main = parentPort;
const { stream, counts } = workerData as BroadcasterStart;

type FrontPeer = Rpc<BroadcasterFrontMethods, FrontBellMethods>;
const fronts = new Map<number, { port: MessagePort; peer: FrontPeer }>();
const broadcaster = new Broadcaster(
  stream,
  (front) => fronts.get(front)?.peer.tell('wake', null),
  new Counters(counts.counters, counts.block),
);
const lag = watchLag(counts.lag, { slow: (turn) => peer.tell('slow', turn) });
main.on('message', () => lag.note());

const hosts = new HostPorts<MessagePort>(
  (items) => {
    lag.note();
    nowRuns('events of bots');
    broadcaster.publish(items);
  },
  (port) => receiveMessageOnPort(port)?.message as Batch | undefined,
);

const methods: Serves<BroadcasterMethods> = {
  attachHost: ({ host, port, inFlight }) => hosts.attach(host, port, new InFlight(inFlight)),
  detachHost: ({ host }) => hosts.detach(host),
  attachFront({ front, port }) {
    const peer: FrontPeer = new Rpc<BroadcasterFrontMethods, FrontBellMethods>(port, {
      baseline: () => broadcaster.baseline(),
    });
    fronts.set(front, { port, peer });
  },
  detachFront({ front }) {
    fronts.get(front)?.port.close();
    fronts.delete(front);
  },
  restore: ({ snapshots }) => broadcaster.restore(snapshots),
  publish({ items }) {
    hosts.drain();
    return { head: broadcaster.publish(items) };
  },
  lastLines({ bots }) {
    hosts.drain();
    return { lines: broadcaster.lastLines(bots) };
  },
  snapshot({ bot }) {
    hosts.drain();
    return { snapshot: broadcaster.snapshot(bot) };
  },
  block: (input) => blockLater(input),
  shutdown() {
    hosts.close();
    for (const { port } of fronts.values()) port.close();
    main.close();
  },
};
const peer = new Rpc<BroadcasterMethods, BroadcasterEvents>(main, methods);
