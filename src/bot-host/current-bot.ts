// Runs in a bot host thread. Owns the knowledge of whose code runs now: all that a bot does, timers and promises too,
// runs in an async context that names it.

import { AsyncLocalStorage, createHook } from 'node:async_hooks';

/** One run of a bot. Not the bot's id: what an earlier run has left behind is not its successor's. */
export interface CurrentRun {
  readonly id: string;
  /** Unlike that of any other run, of any bot. */
  readonly number: number;
  /** Something has thrown where nobody catches it. */
  fail(thrown: unknown): void;
}

const current = new AsyncLocalStorage<CurrentRun>();
let lastRun = 0;
let tellRun: (run: number) => void = () => {};

/** Runs `task` and all that it starts as the bot's. */
export function runAsBot<T>(run: CurrentRun, task: () => T): T {
  noteRun(run);
  return current.run(run, task);
}

/** Has `tell` called with the number of a run whenever its code begins to run, unless it was the last to run before. */
export function watchRuns(tell: (run: number) => void): void {
  tellRun = tell;
  // What a bot goes on with later (timers, sockets, behind an await) comes by here.
  createHook({ before: () => noteRun(current.getStore()) }).enable();
}

function noteRun(run: CurrentRun | undefined): void {
  if (!run || run.number === lastRun) return;
  lastRun = run.number;
  tellRun(lastRun);
}

/** The run whose code runs now, undefined for the host's own. */
export function currentRun(): CurrentRun | undefined {
  return current.getStore();
}

// For the watchdog, which asks a thread that is stuck (src/main/bots/stack-capture.ts).
Object.defineProperty(globalThis, Symbol.for('drover.currentBot'), {
  value: () => currentRun()?.id,
});
