import { setTimeout as delay } from 'node:timers/promises';

/** The clock of supervision. Tests supply their own. */
export interface Clock {
  /** Monotonic, in ms. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Calls `task` every `ms` until the returned function is called. Does not keep the process alive. */
  every(ms: number, task: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  sleep: (ms) => delay(ms),
  every(ms, task) {
    const timer = setInterval(task, ms).unref();
    return () => clearInterval(timer);
  },
};
