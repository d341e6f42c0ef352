// Runs in a bot host thread. Owns signals that follow a bot's own, which lives for weeks, and another one.
//
// Not AbortSignal.any: on Node 20 the older signal keeps about 70 bytes of each combination for good, and 1.2 KB of one
// that is listened to.

/** A signal that is aborted with either of two. */
export interface LinkedSignal {
  signal: AbortSignal;
  /** Lets go of both. */
  release(): void;
}

export function linkSignals(first: AbortSignal, second: AbortSignal): LinkedSignal {
  const controller = new AbortController();
  const sources = [first, second];
  const follow = (): void => {
    controller.abort(sources.find(({ aborted }) => aborted)?.reason);
    release();
  };
  const release = (): void => {
    for (const source of sources) source.removeEventListener('abort', follow);
  };
  for (const source of sources) source.addEventListener('abort', follow);
  if (sources.some(({ aborted }) => aborted)) follow();
  return { signal: controller.signal, release };
}

const collected = new FinalizationRegistry<() => void>((release) => release());

/** Lets go when nobody has the object any more. */
export function releaseWith(owner: object, { release }: LinkedSignal): void {
  collected.register(owner, release);
}
