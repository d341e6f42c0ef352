// Entry of the broadcaster thread: wiring only. It opens no socket and runs no bot code.

import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';
import { Broadcaster } from '../src/broadcaster/broadcaster.js';
import { type Batch, decodeBatch } from '../src/shared/contract/batch.js';
import { Rpc, type Serves } from '../src/shared/contract/rpc.js';
import type {
  BroadcasterFrontMethods,
  BroadcasterMethods,
  BroadcasterStart,
  FrontBellMethods,
} from '../src/shared/contract/threads.js';
import { Counters } from '../src/shared/memory/counters.js';
import { InFlight } from '../src/shared/memory/in-flight.js';
import { LoopLag } from '../src/shared/memory/loop-lag.js';

if (!parentPort) throw new Error('workers/broadcaster runs in a worker thread only');
const main = parentPort;
const { stream, counts } = workerData as BroadcasterStart;

type FrontPeer = Rpc<BroadcasterFrontMethods, FrontBellMethods>;
const hosts = new Map<number, { port: MessagePort; inFlight: InFlight }>();
const fronts = new Map<number, { port: MessagePort; peer: FrontPeer }>();
const broadcaster = new Broadcaster(
  stream,
  (front) => fronts.get(front)?.peer.tell('wake', null),
  new Counters(counts.counters, counts.block),
);
new LoopLag(counts.lag).watch();

function take(batch: Batch, inFlight: InFlight): void {
  broadcaster.publish(decodeBatch(batch.bytes));
  inFlight.subtract(batch.bytes.byteLength);
}

/** Processes the batches that a host has posted until now, but not later ones: a busy host would never end. */
function drain({ port, inFlight }: { port: MessagePort; inFlight: InFlight }): void {
  let owed = inFlight.bytes;
  while (owed > 0) {
    const received = receiveMessageOnPort(port);
    if (!received) return;
    const batch = received.message as Batch;
    owed -= batch.bytes.byteLength;
    take(batch, inFlight);
  }
}

const methods: Serves<BroadcasterMethods> = {
  attachHost({ host, port, inFlight: buffer }) {
    hosts.get(host)?.port.close();
    const inFlight = new InFlight(buffer);
    hosts.set(host, { port, inFlight });
    port.on('message', (batch: Batch) => take(batch, inFlight));
  },
  detachHost({ host }) {
    const attached = hosts.get(host);
    if (!attached) return;
    drain(attached);
    attached.port.close();
    hosts.delete(host);
  },
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
    // Ports have no common order. What main says of a bot comes after what the bot itself said (its last lines
    // before its exit), and by the time main speaks the bot's host has posted those.
    for (const host of hosts.values()) drain(host);
    return { head: broadcaster.publish(items) };
  },
  lastLines({ bots }) {
    for (const host of hosts.values()) drain(host);
    return { lines: broadcaster.lastLines(bots) };
  },
  shutdown() {
    for (const { port } of hosts.values()) port.close();
    for (const { port } of fronts.values()) port.close();
    main.close();
  },
};
new Rpc<BroadcasterMethods, never>(main, methods);
