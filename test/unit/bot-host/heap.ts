// Memory in use after a garbage collection.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

// The flag applies to contexts created after it.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes of objects and of buffers. */
export function usedMemory(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
