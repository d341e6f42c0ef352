// Pure; used where the start of a thread is kept short. Owns what is made only when it is needed.

/** @returns a function that calls `make` the first time, and has what it made from then on. */
export function lazy<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
