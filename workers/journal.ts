// Entry of the journal thread: wiring only. It reads the ring as a front does; no other thread waits for it.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { frontMethods } from '../src/journal/front-methods.js';
import { Journal } from '../src/journal/journal.js';
import { describeRequest } from '../src/journal/requests.js';
import { LONG_QUIET_PERIODS } from '../src/shared/activity-timer.js';
import { Rpc, type Serves } from '../src/shared/contract/rpc.js';
import type {
  BroadcasterFrontMethods,
  FrontBellMethods,
  JournalControlMethods,
  JournalFrontMethods,
  JournalMethods,
  JournalStart,
} from '../src/shared/contract/threads.js';
import { DroverError } from '../src/shared/errors.js';
import { watchLag } from '../src/shared/lag-watch.js';
import { letOthersGoFirst } from '../src/shared/thread-priority.js';

if (!parentPort) throw new Error('workers/journal runs in a worker thread only');
const parent = parentPort;

// Live streams go before replays.
letOthersGoFirst();
const start = workerData as JournalStart;
// Frames and requests are what it works on. That main asks is not.
const lag = watchLag(start.lag, {
  begin: () => main.tell('awake', null),
  slow: (turn) => main.tell('slow', turn),
  describe: describeRequest,
  quietPeriods: LONG_QUIET_PERIODS,
});

let broadcaster:
  | { peer: Rpc<FrontBellMethods, BroadcasterFrontMethods>; port: MessagePort }
  | undefined;
const fronts = new Map<number, MessagePort>();

const methods: Serves<JournalMethods> = {
  ask: () => ({ status: journal.status, isIdle: !lag.isRunning }),
  attachBroadcaster({ port }) {
    detachBroadcaster();
    const bell: Serves<FrontBellMethods> = { wake: () => journal.wake() };
    port.on('message', () => lag.note());
    broadcaster = { peer: new Rpc<FrontBellMethods, BroadcasterFrontMethods>(port, bell), port };
    journal.wake();
  },
  attachFront({ front, port }) {
    fronts.get(front)?.close();
    fronts.set(front, port);
    port.on('message', () => lag.note());
    new Rpc<JournalFrontMethods, never>(port, frontMethods(journal.answers));
  },
  detachFront({ front }) {
    fronts.get(front)?.close();
    fronts.delete(front);
  },
  block: (input) => journal.block(input),
  async close() {
    await journal.close();
    detachBroadcaster();
    for (const port of fronts.values()) port.close();
    parent.close();
  },
};
const main = new Rpc<JournalMethods, JournalControlMethods>(parent, methods);
const journal = new Journal(start, {
  status: (status, notice) => main.tell('status', { status, notice }),
  baseline: async () => broadcaster?.peer.call('baseline', null).catch(() => undefined),
});

function detachBroadcaster(): void {
  broadcaster?.peer.close(new DroverError('unavailable', 'the broadcaster was lost'));
  broadcaster?.port.close();
  broadcaster = undefined;
}
