// Unit tests. How much memory is in use, when what nobody needs any more is gone.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

// The flag counts for contexts that are made after it.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes of objects and of buffers. */
export function usedMemory(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
