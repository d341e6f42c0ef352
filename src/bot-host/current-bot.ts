// Runs in a bot host thread. Owns the knowledge of whose code runs now: all that a bot does, timers and promises too,
// runs in an async context that names it.

import { AsyncLocalStorage } from 'node:async_hooks';

/** One run of a bot. Not the bot's id: what an earlier run has left behind is not its successor's. */
export interface CurrentRun {
  readonly id: string;
  /** Something has thrown where nobody catches it. */
  fail(thrown: unknown): void;
}

const current = new AsyncLocalStorage<CurrentRun>();

/** Runs `task` and all that it starts as the bot's. */
export function runAsBot<T>(run: CurrentRun, task: () => T): T {
  return current.run(run, task);
}

/** The run whose code runs now, undefined for the host's own. */
export function currentRun(): CurrentRun | undefined {
  return current.getStore();
}

// For the watchdog, which asks a thread that is stuck (src/bots/stack-capture.ts).
Object.defineProperty(globalThis, Symbol.for('drover.currentBot'), {
  value: () => currentRun()?.id,
});
