/** The part of the global timers that is used, so that tests can supply their own. */
export interface Timers {
  setTimeout(callback: () => void, ms: number): { unref(): unknown };
  clearTimeout(timer: unknown): void;
}

export interface TimeoutOptions {
  /** False when the wait alone must not keep the process alive. Default true. */
  ref?: boolean;
  timers?: Timers;
}

/** The timers of Node, looked up at each call: tests replace the global functions. */
const GLOBAL: Timers = {
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

/**
 * Settles as `promise` does. When that takes longer than `ms`, settles as `onTimeout` says: resolves with what it returns,
 * or rejects with what it throws. What `promise` does after that is ignored, a rejection too. The timer never outlives the
 * result.
 */
export function withTimeout<T, L>(
  promise: Promise<T>,
  ms: number,
  onTimeout: () => L,
  { ref = true, timers = GLOBAL }: TimeoutOptions = {},
): Promise<T | L> {
  return new Promise<T | L>((resolve, reject) => {
    const timer = timers.setTimeout(() => {
      try {
        resolve(onTimeout());
      } catch (thrown) {
        reject(thrown);
      }
    }, ms);
    if (!ref) timer.unref();
    promise.then(
      (value) => {
        timers.clearTimeout(timer);
        resolve(value);
      },
      (thrown: unknown) => {
        timers.clearTimeout(timer);
        reject(thrown);
      },
    );
  });
}
