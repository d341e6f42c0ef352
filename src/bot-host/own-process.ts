// Runs in a bot host. Gives each bot its own `process`: what it registers there, and how it ends that, concerns it alone
// (docs/decisions/0111-each-bot-has-its-own-process-object.md).

import { currentOwner, type Owner } from './current-bot.js';
import { ownEnd } from './own-end.js';
import {
  emitTo,
  emitToAll,
  emitToHearing,
  ownOf,
  ownsFor,
  runContained,
  uncaught,
} from './own-listeners.js';
import { ownProperty } from './own-values.js';

type Emit = (event: string | symbol, ...args: unknown[]) => boolean;
/** What Node calls with an error that nothing has caught; in no types. @returns whether the process keeps running. */
type Fatal = (thrown: unknown, isRejection: boolean) => boolean;

/** The methods of an emitter, apart from `emit`. */
const METHODS = [
  'addListener',
  'eventNames',
  'getMaxListeners',
  'listenerCount',
  'listeners',
  'off',
  'on',
  'once',
  'prependListener',
  'prependOnceListener',
  'rawListeners',
  'removeAllListeners',
  'removeListener',
  'setMaxListeners',
] as const;

const ADDS = /^add|^on|^prepend/;

/** Node emits them, where it does not expect that a listener throws. */
const FROM_NODE: readonly (string | symbol)[] = [
  'beforeExit',
  'exit',
  'multipleResolves',
  'warning',
  'worker',
  'workerMessage',
];

const { emit, on, removeListener } = process as Omit<NodeJS.Process, 'emit'> & { emit: Emit };
/** Node's own part of an uncaught error runs: it clears its stack of contexts. */
let isSettling = false;

/**
 * @param broke is called with an uncaught error of no bot. @param mayEnd whether a bot may end the process: it is that of its
 * host, and not of the service.
 */
export function ownProcess(broke: (thrown: unknown) => void, mayEnd: boolean): void {
  ownEvents(mayEnd);
  ownCapture();
  ownProperty(process, 'throwDeprecation');
  takeUncaught(broke);
  if (!mayEnd) ownEnd(() => isSettling);
}

function ownEvents(mayEnd: boolean): void {
  for (const name of METHODS) {
    const method = process[name] as (...args: unknown[]) => unknown;
    ownProperty(process, name, (...args: unknown[]): unknown => {
      const owner = currentOwner();
      if (!owner) return Reflect.apply(method, process, args);
      const { emitter } = ownOf(owner);
      if (mayEnd && ADDS.test(name) && isSignal(args[0])) forward(args[0]);
      const result = Reflect.apply(method, emitter, args);
      return result === emitter ? process : result;
    });
  }
  const emitAsBot = (event: string | symbol, ...args: unknown[]): boolean => {
    if (isSettling) return true;
    const isHeardByOwner = emitToHearing(event, args);
    if (isHeardByOwner !== undefined) return isHeardByOwner;
    const owner = currentOwner();
    // The host's own listeners, and Node's.
    const isHeard = Reflect.apply(emit, process, [event, ...args]);
    // What the host listens to, it passes on.
    if (!owner || event === 'unhandledRejection' || event === 'rejectionHandled') return isHeard;
    if (!FROM_NODE.includes(event)) return emitTo(owner, event, args) || isHeard;
    return (runContained(owner, () => emitTo(owner, event, args)) ?? true) || isHeard;
  };
  Object.defineProperty(process, 'emit', {
    // Node reads it too, and never gets a bot's.
    get: () => emitAsBot,
    set(value: Emit) {
      const owner = currentOwner();
      if (owner) ownOf(owner).emit = value === emitAsBot ? null : value;
    },
    configurable: true,
  });
  // The process ends with all of its bots.
  if (mayEnd) process.on('exit', (code) => emitToAll('exit', [code]));
}

const forwarded = new Set<string>();

function isSignal(event: unknown): event is NodeJS.Signals {
  return typeof event === 'string' && /^SIG[A-Z]/.test(event);
}

/** A signal of the process is that of all bots which listen to it. Without any, it does what it does without listeners. */
function forward(signal: NodeJS.Signals): void {
  if (forwarded.has(signal)) return;
  forwarded.add(signal);
  const listener = (): void => {
    if (emitToAll(signal, [signal])) return;
    Reflect.apply(removeListener, process, [signal, listener]);
    forwarded.delete(signal);
    process.kill(process.pid, signal);
  };
  Reflect.apply(on, process, [signal, listener]);
}

function ownCapture(): void {
  process.setUncaughtExceptionCaptureCallback = (capture) => {
    const owner = currentOwner();
    if (!owner) return;
    const own = ownOf(owner);
    if (capture !== null && typeof capture !== 'function') {
      throw new TypeError('the capture callback must be a function or null');
    }
    if (capture && own.capture) throw new Error('a capture callback is set already');
    own.capture = capture as ((error: unknown) => void) | null;
  };
  process.hasUncaughtExceptionCaptureCallback = () => {
    const owner = currentOwner();
    return owner !== undefined && ownsFor(owner).some(({ capture }) => capture !== null);
  };
  // The module domain replaces it.
  ownProperty(process, 'setUncaughtExceptionCaptureCallback');
}

/** An uncaught error goes to its owner before Node looks at it: a throw while Node handles one would abort the process. */
function takeUncaught(broke: (thrown: unknown) => void): void {
  const settle = Reflect.get(process, '_fatalException') as Fatal;
  const take: Fatal = (thrown) => {
    const owner = currentOwner();
    if (owner) uncaught(owner, thrown);
    else broke(thrown);
    isSettling = true;
    try {
      return settle.call(process, undefined, false);
    } finally {
      isSettling = false;
    }
  };
  Object.defineProperty(process, '_fatalException', {
    value: take,
    writable: false,
    configurable: false,
  });
  /** Node tells in no context that one was handled after all. */
  const rejected = new WeakMap<object, Owner>();
  Reflect.apply(on, process, [
    'unhandledRejection',
    (reason: unknown, promise: object) => {
      const owner = currentOwner();
      if (!owner) return broke(reason);
      if (ownsFor(owner).length > 0) rejected.set(promise, owner);
      uncaught(owner, reason, 'unhandledRejection', promise);
    },
  ]);
  Reflect.apply(on, process, [
    'rejectionHandled',
    (promise: object) => {
      const owner = rejected.get(promise);
      if (owner) runContained(owner, () => emitTo(owner, 'rejectionHandled', [promise]));
    },
  ]);
}
