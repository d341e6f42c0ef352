// Copies of shared cells, for a process that cannot share memory with the service (src/host-relay).
//
// Contract: one writer for the cells that an image is applied to. The words are stored from the last to the first: what readers
// check, the count of a CommandLog or of a Heartbeat, is the first one, so it changes when all that it counts is there.

/** The cells as they are now, as 32-bit words in the order of the machine: both processes run on it. */
export function imageOf(cells: SharedArrayBuffer): number[] {
  const words = new Int32Array(cells);
  return Array.from(words, (_, at) => Atomics.load(words, at));
}

/** Stores an image of cells of the same size. @throws RangeError for one of another size: nothing is stored then. */
export function applyImage(image: ArrayLike<number>, cells: SharedArrayBuffer): void {
  const words = new Int32Array(cells);
  if (image.length !== words.length) {
    throw new RangeError(`an image of ${image.length} cells for ${words.length}`);
  }
  for (let at = words.length - 1; at >= 0; at--) Atomics.store(words, at, image[at] as number);
}
