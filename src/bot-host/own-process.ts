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
  tableOf,
  uncaught,
} from './own-listeners.js';
import { ownProperty } from './own-values.js';

type Callback = (...args: unknown[]) => unknown;
type Emit = (event: string | symbol, ...args: unknown[]) => boolean;
/**
 * The function that Node calls with an uncaught error; it is in no types. @returns whether the process keeps running.
 */
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

/** Where an emitter has its listeners: the methods of EventEmitter.prototype use nothing else of `process`. */
const TABLE = ['_events', '_eventsCount'] as const;

/** Node emits them, where it does not expect that a listener throws. */
const FROM_NODE: readonly (string | symbol)[] = [
  'beforeExit',
  'exit',
  'multipleResolves',
  'warning',
  'worker',
  'workerMessage',
];

const { on, removeListener } = process;
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
  const listeners = ownTable();
  for (const name of METHODS) {
    if (mayEnd && ADDS.test(name)) forwardSignals(name);
    else ownProperty(process, name);
  }
  const emitAsBot = (event: string | symbol, ...args: unknown[]): boolean => {
    if (isSettling) return true;
    const isHeardByOwner = emitToHearing(event, args);
    if (isHeardByOwner !== undefined) return isHeardByOwner;
    const owner = currentOwner();
    // The listeners of the host and of Node.
    const all = listeners(event);
    for (const listener of all) Reflect.apply(listener, process, args);
    const isHeard = all.length > 0;
    // The host passes on the events that it listens to.
    if (!owner || event === 'unhandledRejection' || event === 'rejectionHandled') return isHeard;
    if (!FROM_NODE.includes(event)) return emitTo(owner, event, args) || isHeard;
    return (runContained(owner, () => emitTo(owner, event, args)) ?? true) || isHeard;
  };
  Object.defineProperty(process, 'emit', {
    // Node reads this property too, and must never get a bot's function.
    get: () => emitAsBot,
    set(value: Emit) {
      const owner = currentOwner();
      if (owner) ownOf(owner).emit = value === emitAsBot ? null : value;
    },
    configurable: false,
  });
  // The process ends with all of its bots.
  if (mayEnd) process.on('exit', (code) => emitToAll('exit', [code]));
}

/** @returns what finds the listeners of the host, and of Node, also while code of a bot runs. */
function ownTable(): (event: string | symbol) => Callback[] {
  const shared = { _events: Reflect.get(process, '_events') as Record<string | symbol, unknown> };
  for (const name of TABLE) {
    Reflect.set(shared, name, Reflect.get(process, name));
    Object.defineProperty(process, name, {
      get() {
        const owner = currentOwner();
        return owner ? tableOf(owner, name) : Reflect.get(shared, name);
      },
      set(value: unknown) {
        const owner = currentOwner();
        Reflect.set(owner ? ownOf(owner).emitter : shared, name, value);
      },
      configurable: false,
    });
  }
  return (event) => {
    const found = shared._events[event];
    if (found === undefined) return [];
    return Array.isArray(found) ? [...found] : [found as Callback];
  };
}

const forwarded = new Set<string>();

function forwardSignals(name: (typeof METHODS)[number]): void {
  const add = process[name] as Callback;
  ownProperty(process, name, (...args: unknown[]): unknown => {
    if (currentOwner() && isSignal(args[0])) forward(args[0]);
    return Reflect.apply(add, process, args);
  });
}

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
  // Each bot gets its own, because the module domain replaces it.
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
