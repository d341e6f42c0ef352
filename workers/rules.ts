// Entry of the rules thread: wiring only. It reads the ring as a front does; no other thread waits for it.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Evaluation } from '../src/rules/evaluation.js';
import { blockLater } from '../src/shared/block-loop.js';
import { NameHasher } from '../src/shared/contract/name-hash.js';
import { Rpc, type Serves } from '../src/shared/contract/rpc.js';
import type {
  RulesEvents,
  RulesMethods,
  RulesStart,
} from '../src/shared/contract/rule-messages.js';
import type { BroadcasterFrontMethods, FrontBellMethods } from '../src/shared/contract/threads.js';
import { DroverError } from '../src/shared/errors.js';
import { watchLag } from '../src/shared/lag-watch.js';
import { NodeNames } from '../src/shared/memory/node-names.js';
import { RingReader } from '../src/shared/memory/ring-reader.js';
import { letOthersGoFirst } from '../src/shared/thread-priority.js';

if (!parentPort) throw new Error('workers/rules runs in a worker thread only');
const parent = parentPort;

// Live streams go before alerts.
letOthersGoFirst();
const { stream, lag: sharedLag, reader } = workerData as RulesStart;
const lag = watchLag(sharedLag, { slow: (turn) => main.tell('slow', turn) });
parent.on('message', () => lag.note());
let broadcaster:
  | { peer: Rpc<FrontBellMethods, BroadcasterFrontMethods>; port: MessagePort }
  | undefined;

const methods: Serves<RulesMethods> = {
  attachBroadcaster({ port }) {
    detachBroadcaster();
    // It never asks for the bell: rules wait for time.
    const bell: Serves<FrontBellMethods> = { wake: () => undefined };
    broadcaster = { peer: new Rpc<FrontBellMethods, BroadcasterFrontMethods>(port, bell), port };
  },
  watch: ({ rules, from }) => evaluation.watch(rules, from),
  stall: ({ isStalled }) => evaluation.stall(isStalled),
  catchUp: () => evaluation.catchUp(),
  block: (input) => blockLater(input),
  close() {
    evaluation.close();
    detachBroadcaster();
    parent.close();
  },
};
const main = new Rpc<RulesMethods, RulesEvents>(parent, methods);
const evaluation = new Evaluation({
  ring: new RingReader(stream.ring, reader),
  names: new NameHasher(stream.hashKey),
  nodes: stream.nodes && new NodeNames(stream.nodes),
  baseline: async () => broadcaster?.peer.call('baseline', null).catch(() => undefined),
  changed: (reports) => main.tell('changed', { reports }),
  alerted: (event) => main.tell('alerted', { event }),
  lost: (frames) => main.tell('lost', { frames }),
  every(ms, task) {
    const timer = setInterval(() => {
      lag.note();
      task();
    }, ms);
    return () => clearInterval(timer);
  },
  now: () => performance.now(),
});

function detachBroadcaster(): void {
  broadcaster?.peer.close(new DroverError('unavailable', 'the broadcaster was lost'));
  broadcaster?.port.close();
  broadcaster = undefined;
}
