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
  /** Unique over all bots. */
  readonly number: number;
  readonly log: Logger;
  /** Called with an uncaught error. */
  fail(thrown: unknown): void;
  /** It ended some time ago, and what it had left open was closed. */
  isGone: boolean;
}

const current = new AsyncLocalStorage<CurrentRun>();
/** The host's own context, which names no run. */
const host = new AsyncResource('drover.host');
let lastRun = 0;
let onRun: (run: number) => void = () => {};
let onInterval: (run: CurrentRun, interval: NodeJS.Timeout) => void = () => {};

/** Runs `task`, and everything that it starts, in the run's context. */
export function runAsBot<T>(run: CurrentRun, task: () => T): T {
  noteRun(run);
  return current.run(run, task);
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
  // It calls the code now, for the last time.
  runAsHost(() => queueMicrotask(() => onInterval(run, resource as NodeJS.Timeout)));
}

function noteRun(run: CurrentRun | undefined): void {
  const number = run?.number ?? 0;
  if (number === lastRun) return;
  lastRun = number;
  onRun(number);
}

/** The run whose code is running; undefined for the host's own code. */
export function currentRun(): CurrentRun | undefined {
  return current.getStore();
}

// Read by the inspector in a thread that hangs (src/shared/stack-capture.ts).
Object.defineProperty(globalThis, Symbol.for('drover.currentBot'), {
  value: () => currentRun()?.id,
});
