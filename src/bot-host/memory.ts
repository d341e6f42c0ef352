// Runs in a bot host thread. Owns what memory the thread uses: its heap, and what lies outside of it (Buffers).

import { getHeapStatistics } from 'node:v8';

/** There because main has set the flag for it (src/main/bots/memory-guard.ts). */
const collectGarbage = globalThis.gc;
// Not for bots: it would hold up all that run here. V8 does not let it be deleted.
globalThis.gc = undefined;

/** How often garbage is collected, in ms, at most; the loop stands still meanwhile. */
const COLLECT_MS = 1000;

/** When it was collected last, on the clock of `performance`, and what was left. */
let collected = { at: Number.NEGATIVE_INFINITY, left: 0 };

/**
 * Bytes in use. Above `limit` without garbage: V8, whose own limit is higher, may not have collected it yet. Where that was
 * done just now it may be garbage again, and counts as `limit` until half as much has come on top.
 */
export function memoryUsed(limit: number): number {
  const used = bytesNow();
  if (used <= limit || !collectGarbage) return used;
  const isRecent = performance.now() - collected.at < COLLECT_MS;
  if (isRecent && used - collected.left < limit / 2) return limit;
  collectGarbage();
  collected = { at: performance.now(), left: bytesNow() };
  return collected.left;
}

function bytesNow(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}
