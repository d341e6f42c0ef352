/** Lazy initialization. @returns a function that calls `make` the first time and returns the same object from then on. */
export function lazy<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
