// Runs in a bot host thread. Owns the measurement of its memory: the heap, and Buffers outside of it.

import { getHeapStatistics } from 'node:v8';

/** Exists because main sets its flag (src/main/bots/memory-guard.ts). */
const collectGarbage = globalThis.gc;
// Hidden from bots, because a collection stops all bots of the host. V8 does not let it be deleted.
globalThis.gc = undefined;

/** Shortest interval between forced collections, in ms: each blocks the event loop. */
const COLLECT_MS = 1000;

/** The last collection: its time on the clock of `performance`, and the bytes that were left. */
let collected = { at: Number.NEGATIVE_INFINITY, left: 0 };

/**
 * Bytes in use. Above `limit`, garbage is collected first, because V8's limit is higher. Shortly after a collection the
 * bytes may be garbage again: they count as `limit` until half as much has been added.
 */
export function memoryUsed(limit: number): number {
  const used = bytesNow();
  if (used <= limit || !collectGarbage) return used;
  const isRecent = performance.now() - collected.at < COLLECT_MS;
  if (isRecent && used - collected.left < limit / 2) return limit;
  collectGarbage();
  // V8 frees the Buffers of a collection in another thread, and counts them until then: it waits for that only as it begins
  // the next collection. Up to 41 MB of freed Buffers were counted after one collection, none after two (Node 20.20).
  if (bytesNow() > limit) collectGarbage();
  collected = { at: performance.now(), left: bytesNow() };
  return collected.left;
}

function bytesNow(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}
