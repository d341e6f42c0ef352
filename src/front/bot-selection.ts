// Runs in a front thread. Owns the turns of queries for bots: one is worked on at a time, a slice of a few ms after the other, so that
// no query keeps the front from other requests.

import type { BotSnapshot } from '../shared/contract/events.js';
import type { BOTS_QUERY } from '../shared/contract/queries.js';
import { botTest } from '../shared/query/bot-query.js';
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

export class BotSelections {
  readonly #turns = new Semaphore(TURNS);

  /**
   * The bots that the parameter `query` selects; undefined without it.
   * @param token gets its share of the turns.
   * @throws DroverError `bad_request` at once.
   */
  of(
    pairs: Pairs,
    mirror: Pick<SnapshotMirror, 'all'>,
    token: string,
    gone: () => AbortSignal,
  ): Promise<Selection> | undefined {
    const query = readQuery(queryValue<keyof typeof BOTS_QUERY>(pairs, 'query') ?? '', 'bots');
    if (query.length === 0) return undefined;
    const test = botTest(query);
    const now = Date.now();
    return this.#turns.run(
      async () => {
        const found = new Set<string>();
        let end = performance.now() + SLICE_MS;
        // As of now: bots may come and go between two slices.
        for (const { snapshot } of [...mirror.all()]) {
          if (test(snapshot, now)) found.add(snapshot.id);
          if (performance.now() < end) continue;
          await new Promise((resolve) => setImmediate(resolve));
          end = performance.now() + SLICE_MS;
        }
        return ({ id }) => found.has(id);
      },
      gone(),
      token,
    );
  }
}
