// Runs in a bot host thread. Owns what memory the thread uses, its heap and what lies outside of it (Buffers).

import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
// Bots have no use for it.
setFlagsFromString('--no-expose-gc');

/** Bytes, with garbage that is not collected yet. */
export function memoryUsed(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

// For the memory guard, which asks a thread that is busy too (src/bots/memory-probe.ts). Above `limit` garbage does not count.
Object.defineProperty(globalThis, Symbol.for('drover.memoryUsed'), {
  value: (limit: number) => {
    if (memoryUsed() > limit) collectGarbage();
    return memoryUsed();
  },
});
