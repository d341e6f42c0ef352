import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BotPlatform } from './run-context.js';

interface FakeTimer {
  at: number;
  /** Interval of a repeated timer, in ms. */
  every: number | null;
  task: () => void;
}

/** Owns the timers of one bot in a unit test. Time passes in {@link advance} only. */
export class FakeClock {
  #now = 0;
  /** In the order in which they were set. */
  readonly #timers = new Set<FakeTimer>();

  readonly platform: Pick<BotPlatform, 'sleep' | 'every' | 'after'> = {
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const stop = (): void => {
          clear();
          reject(aborted(signal));
        };
        if (signal.aborted) {
          reject(aborted(signal));
          return;
        }
        const clear = this.#set(ms, null, () => {
          signal.removeEventListener('abort', stop);
          resolve();
        });
        signal.addEventListener('abort', stop, { once: true });
      }),
    every: (ms, task) => this.#set(ms, Math.max(1, ms), task),
    after: (ms, task) => this.#set(ms, null, task),
  };

  /**
   * Timers that are due within `ms` run in order. Everything that one starts without waiting is done before the next.
   */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await nextTurn();
    for (let next = this.#next(until); next; next = this.#next(until)) {
      this.#now = next.at;
      if (next.every === null) this.#timers.delete(next);
      else next.at += next.every;
      next.task();
      await nextTurn();
    }
    this.#now = until;
  }

  /** The earliest that is due; of several, the one that was set first. */
  #next(until: number): FakeTimer | undefined {
    let next: FakeTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.at <= until && (!next || timer.at < next.at)) next = timer;
    }
    return next;
  }

  /** @returns a function that clears it. */
  #set(ms: number, every: number | null, task: () => void): () => void {
    // At least 1 ms, as in Node.
    const timer: FakeTimer = { at: this.#now + Math.max(1, ms), every, task };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }
}

/** The error with which Node's own timers reject. */
function aborted(signal: AbortSignal): Error {
  const error = new Error('The operation was aborted', { cause: signal.reason });
  return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' });
}
