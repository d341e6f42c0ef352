// Runs in a front thread. Owns the turns of queries for bots: one is worked on at a time, a slice of a few ms after the other, so that
// no query keeps the front from other requests.

import type { BotTest } from '../../shared/query/bot-query.js';
import { Semaphore } from '../../shared/semaphore.js';
import type { SnapshotMirror } from './snapshot-mirror.js';

/** One query runs at a time; queries beyond the queue are refused with `overloaded`. */
const TURNS = { permits: 1, maxQueued: 256 };
/** Longest slice, in ms. */
const SLICE_MS = 5;

const turns = new Semaphore(TURNS);

/**
 * The bots for which it holds, as they are now. Rejects with `overloaded` when too many wait.
 * @param owner gets its share of the turns.
 */
export function findBots(
  mirror: Pick<SnapshotMirror, 'all'>,
  test: BotTest,
  owner = '',
  gone?: AbortSignal,
): Promise<Set<string>> {
  const now = Date.now();
  // Copies the list, because bots may come and go before the query runs and between two slices.
  const all = [...mirror.all()];
  return turns.run(
    async () => {
      const found = new Set<string>();
      let end = performance.now() + SLICE_MS;
      for (const { snapshot } of all) {
        if (test(snapshot, now)) found.add(snapshot.id);
        if (performance.now() < end) continue;
        await new Promise((resolve) => setImmediate(resolve));
        end = performance.now() + SLICE_MS;
      }
      return found;
    },
    gone,
    owner,
  );
}
