// Copies of shared cells, for a process that cannot share memory with the service (src/host-relay).
//
// Contract: one writer for the cells that an image is applied to. The words are stored from the last to the first: what readers
// check, the count of a CommandLog or of a Heartbeat, is the first one, so it changes when all that it counts is there.

/** The cells as they are now, a whole number of 32-bit words. */
export function imageOf(cells: SharedArrayBuffer): Uint8Array {
  const words = new Int32Array(cells);
  const image = new Int32Array(words.length);
  for (let at = 0; at < words.length; at++) image[at] = Atomics.load(words, at);
  return new Uint8Array(image.buffer);
}

/** Stores an image of cells of the same size. @throws RangeError for one of another size: nothing is stored then. */
export function applyImage(image: Uint8Array, cells: SharedArrayBuffer): void {
  if (image.byteLength !== cells.byteLength) {
    throw new RangeError(`an image of ${image.byteLength} bytes for ${cells.byteLength}`);
  }
  const words = new Int32Array(cells);
  const view = new DataView(image.buffer, image.byteOffset, image.byteLength);
  for (let at = words.length - 1; at >= 0; at--) {
    // In the order of the machine: both processes run on it.
    Atomics.store(words, at, view.getInt32(4 * at, LITTLE_ENDIAN));
  }
}

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
