// Entry of the bus thread of a cluster: wiring only. It reads the node's own ring as a front does, and writes that of the cluster.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { BusHistory } from '../src/cluster/bus/bus-history.js';
import { ClusterBus } from '../src/cluster/bus/cluster-bus.js';
import type {
  ClusterBusEvents,
  ClusterBusMethods,
  ClusterBusStart,
} from '../src/cluster/wire/bus-messages.js';
import { Rpc, type Serves } from '../src/shared/contract/rpc.js';
import type {
  BroadcasterFrontMethods,
  FrontBellMethods,
  JournalFrontMethods,
} from '../src/shared/contract/threads.js';
import { DroverError } from '../src/shared/errors.js';
import { watchLag } from '../src/shared/lag-watch.js';

if (!parentPort) throw new Error('workers/cluster-bus runs in a worker thread only');
const parent = parentPort;
const start = workerData as ClusterBusStart;
const lag = watchLag(start.lag, { slow: (turn) => main.tell('slow', turn) });
parent.on('message', () => lag.note());

let broadcaster:
  | { peer: Rpc<FrontBellMethods, BroadcasterFrontMethods>; port: MessagePort }
  | undefined;
let journal: { peer: Rpc<never, JournalFrontMethods>; port: MessagePort } | undefined;
type FrontPeer = Rpc<BroadcasterFrontMethods, FrontBellMethods>;
const fronts = new Map<number, { peer: FrontPeer; ports: MessagePort[] }>();

const methods: Serves<ClusterBusMethods> = {
  attachBroadcaster({ port }) {
    detachBroadcaster();
    const bell: Serves<FrontBellMethods> = {
      wake() {
        lag.note();
        bus.wake();
      },
    };
    broadcaster = { peer: new Rpc<FrontBellMethods, BroadcasterFrontMethods>(port, bell), port };
    bus.wake();
  },
  attachJournal({ port }) {
    detachJournal();
    if (port) {
      const peer = new Rpc<never, JournalFrontMethods>(port, {} as never);
      journal = { peer, port };
      port.once('close', () => {
        if (journal?.port === port) detachJournal();
      });
    }
    bus.journal = journal ? { replay: (request) => ownJournal().call('replay', request) } : null;
  },
  attachFront({ front, stream, history: historyPort }) {
    detachFront(front);
    const peer: FrontPeer = new Rpc<BroadcasterFrontMethods, FrontBellMethods>(stream, {
      baseline: () => bus.baseline(),
    });
    if (historyPort) new Rpc<JournalFrontMethods, never>(historyPort, history.frontMethods());
    fronts.set(front, { peer, ports: historyPort ? [stream, historyPort] : [stream] });
  },
  detachFront: ({ front }) => detachFront(front),
  publish: ({ keep }) => bus.publish(keep),
  hold: () => bus.hold(),
  fence: async ({ node, of, bots, deleted }) => ({
    others: await bus.fence(node, of, bots, deleted),
  }),
  deletedHere: () => ({ sessions: bus.deletedOn(start.config.node) }),
  flush: async ({ withinMs, isLast }) => ({ isPublished: await bus.flush(withinMs, isLast) }),
  readAll: async ({ withinMs }) => ({ isRead: await bus.readAll(withinMs) }),
  members: ({ members }) => {
    history.members = members;
  },
  async close({ withinMs }) {
    history.close();
    await bus.close(withinMs);
    detachBroadcaster();
    detachJournal();
    for (const front of [...fronts.keys()]) detachFront(front);
    parent.close();
  },
};
const main = new Rpc<ClusterBusMethods, ClusterBusEvents>(parent, methods);
const bus = new ClusterBus(start, {
  ready: (stream, isBlind) => main.tell('ready', { stream, isBlind }),
  changed: (status, notice) => main.tell('changed', { status, notice }),
  fenced: () => main.tell('fenced', null),
  wake: (front) => fronts.get(front)?.peer.tell('wake', null),
  ownSessions: async () => {
    const own = await broadcaster?.peer.call('baseline', null);
    return own?.sessions ?? [];
  },
});
const history = new BusHistory(
  bus,
  start,
  () => ownJournal(),
  (notice) => main.tell('changed', { status: bus.status, notice }),
);

function ownJournal(): Rpc<never, JournalFrontMethods> {
  if (!journal) throw new DroverError('unavailable', 'the journal is not there');
  return journal.peer;
}

function detachBroadcaster(): void {
  broadcaster?.peer.close(new DroverError('unavailable', 'the broadcaster was lost'));
  broadcaster?.port.close();
  broadcaster = undefined;
}

function detachJournal(): void {
  journal?.peer.close(new DroverError('unavailable', 'the journal was lost'));
  journal?.port.close();
  journal = undefined;
}

function detachFront(front: number): void {
  for (const port of fronts.get(front)?.ports ?? []) port.close();
  fronts.delete(front);
}
