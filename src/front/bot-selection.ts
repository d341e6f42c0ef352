// Runs in a front thread. Owns the turns of queries for bots: one is worked on at a time, a slice of a few ms after the other, so that
// no query keeps the front from other requests.

import type { BotSnapshot } from '../shared/contract/events.js';
import type { BOTS_QUERY } from '../shared/contract/queries.js';
import { type BotTest, botTest } from '../shared/query/bot-query.js';
import { readQuery } from '../shared/query/read-query.js';
import { Semaphore } from '../shared/semaphore.js';
import { type Pairs, queryValue } from './query-string.js';
import type { SnapshotMirror } from './snapshot-mirror.js';

/** Of one query at a time; further ones are refused with `overloaded`. */
const TURNS = { permits: 1, maxQueued: 256 };
/** Longest slice, in ms. */
const SLICE_MS = 5;

/** Whether a bot matches; as it was when the query reached it. */
export type Selection = (bot: BotSnapshot) => boolean;

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
  // As of now: bots may come and go until its turn, and between two slices.
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

/**
 * The bots that the parameter `query` selects; undefined without it.
 * @throws DroverError `bad_request` at once.
 */
export function selectionOf(
  pairs: Pairs,
  mirror: Pick<SnapshotMirror, 'all'>,
  token: string,
  gone: () => AbortSignal,
): Promise<Selection> | undefined {
  const query = readQuery(queryValue<keyof typeof BOTS_QUERY>(pairs, 'query') ?? '', 'bots');
  if (query.length === 0) return undefined;
  return findBots(mirror, botTest(query), token, gone()).then(
    (found) =>
      ({ id }) =>
        found.has(id),
  );
}
