/**
 * Settles as the promise does, or rejects with the signal's reason when it is aborted first. What the promise does after
 * that is ignored. Leaves no listener on the signal.
 */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    const settle = (): void => signal.removeEventListener('abort', abort);
    promise.then(resolve, reject).finally(settle);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
