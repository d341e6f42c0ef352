// Runs in a bot host thread. Owns what memory the thread uses: its heap, and what lies outside of it (Buffers).

import { getHeapStatistics } from 'node:v8';

/** There because main has set the flag for it (src/bots/memory-guard.ts). */
const collectGarbage = globalThis.gc;

/** Bytes in use. Above `limit` without garbage: V8, whose own limit is higher, may not have collected it yet. */
export function memoryUsed(limit: number): number {
  const used = bytesNow();
  if (used <= limit) return used;
  collectGarbage?.();
  return bytesNow();
}

function bytesNow(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}
