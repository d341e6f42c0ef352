// Runs in a bot host thread. Owns the async context that names the run whose code is running, in timers and promises too.

import {
  AsyncLocalStorage,
  AsyncResource,
  createHook,
  executionAsyncResource,
} from 'node:async_hooks';
import type { Logger } from '../bot-sdk/index.js';

/** One run of a bot. Its number tells it from earlier runs of the same bot, whose code may still be running. */
export interface CurrentRun {
  readonly id: string;
  readonly kind: { readonly kind: string };
  /** Unique over all bots, from 1. */
  readonly number: number;
  readonly log: Logger;
  /** Called with an uncaught error. */
  fail(thrown: unknown): void;
  /** Whether it ended some time ago and its open resources were closed. */
  isGone: boolean;
}

/**
 * The code of a kind's module, outside of any run: what runs while it loads, and what that starts. It is the owner of what it
 * registers, for the bots of its kind.
 */
export interface KindCode {
  readonly id: null;
  readonly number: 0;
  readonly isGone: false;
  /** Called with an uncaught error. */
  fail(thrown: unknown): void;
}

/** The owner of the code that runs. */
export type Owner = CurrentRun | KindCode;

const current = withOwnMethods(new AsyncLocalStorage<Owner>(), ['getStore', 'run']);
/** The code of each kind's module, by the kind object of its runs. */
const codes = new WeakMap<object, KindCode>();
/** The host's own context, which names no run. */
const host = withOwnMethods(new AsyncResource('drover.host'), ['runInAsyncScope']);
let lastRun = 0;
let onRun: (run: number) => void = () => {};
let onInterval: (run: CurrentRun, interval: NodeJS.Timeout) => void = () => {};

/** Packages that trace calls replace methods of the class. */
function withOwnMethods<T extends object>(object: T, names: readonly (keyof T & string)[]): T {
  for (const name of names) Object.defineProperty(object, name, { value: object[name] });
  return object;
}

/** Runs `task`, and everything that it starts, in the run's context, or in that of a kind's module. */
export function runAsBot<T>(owner: Owner, task: () => T): T {
  noteRun(owner);
  return current.run(owner, task);
}

/** The module of the kind is loaded. */
export function noteKindCode(kind: object, code: KindCode): void {
  codes.set(kind, code);
}

/** The code of the module that the owner's kind comes from; undefined for that code itself. */
export function kindCodeOf(owner: Owner): KindCode | undefined {
  return owner.id === null ? undefined : codes.get(owner.kind);
}

/** Runs `task`, and everything that it starts, as the host's own, whichever run's code calls this. */
export function runAsHost(task: () => void): void {
  host.runInAsyncScope(task);
}

/** @param ended is called when an interval calls the code of a run that is gone. */
export function watchIntervals(ended: (run: CurrentRun, interval: NodeJS.Timeout) => void): void {
  onInterval = ended;
}

/**
 * @param onCode is called before each callback of the thread, of whichever run or of the host itself. @param listener is called
 * with the number of a run when its code starts to run after that of another, and with 0 for code of no run: the host's own, or
 * that of a kind's module.
 */
export function watchRuns(onCode: () => void, listener: (run: number) => void): void {
  onRun = listener;
  // Code that continues later (timers, sockets, after an await) passes this hook.
  createHook({
    before() {
      onCode();
      const run = current.getStore();
      noteRun(run);
      if (run?.isGone) noteInterval(run);
    },
  }).enable();
}

function noteInterval(run: CurrentRun): void {
  const resource = executionAsyncResource();
  // Timers of setTimeout are left alone: those of shared parts, such as the pool of fetch, have the context of the bot that was first.
  if (typeof Reflect.get(resource, '_repeat') !== 'number') return;
  // The interval runs now for the last time.
  runAsHost(() => queueMicrotask(() => onInterval(run, resource as NodeJS.Timeout)));
}

function noteRun(owner: Owner | undefined): void {
  const number = owner?.number ?? 0;
  if (number === lastRun) return;
  lastRun = number;
  onRun(number);
}

/** The run whose code is running; undefined for the host's own code, and for that of a kind's module. */
export function currentRun(): CurrentRun | undefined {
  const owner = current.getStore();
  return owner === undefined || owner.id === null ? undefined : owner;
}

/** The owner of the running code; undefined for the host's own. */
export function currentOwner(): Owner | undefined {
  return current.getStore();
}

// Read by the inspector in a thread that hangs (src/shared/stack-capture.ts).
Object.defineProperty(globalThis, Symbol.for('drover.currentBot'), {
  value: () => currentRun()?.id,
});
