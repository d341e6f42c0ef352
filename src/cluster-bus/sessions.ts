// Runs in the bus thread. Owns the latest snapshot of every bot of the cluster, as of what was read from the stream.

import type { LostBot } from '../shared/cluster/bus-messages.js';
import type { BotSnapshot } from '../shared/contract/events.js';
import { sessionJson } from '../shared/stream/frame.js';

interface Known {
  term: number;
  json: string;
}

export class Sessions {
  readonly #bots = new Map<string, Known>();

  /** Forgets all, and takes what another node has told: JSON of `session` events. */
  reset(sessions: readonly string[]): void {
    this.#bots.clear();
    for (const json of sessions) this.take(json);
  }

  /**
   * Takes the data of a `session` frame, in the order of the stream.
   * @returns the data for this node's stream: the same, or the newer snapshot that is there already when this one is of an older term.
   */
  take(json: string): string {
    const { snapshot } = JSON.parse(json) as { snapshot: BotSnapshot };
    const { id, term = 0, status } = snapshot;
    const known = this.#bots.get(id);
    if (known && known.term > term) return known.json;
    if (status === 'deleted') this.#bots.delete(id);
    else this.#bots.set(id, { term, json });
    return json;
  }

  /** JSON of the `session` event of every bot. */
  all(): string[] {
    return Array.from(this.#bots.values(), ({ json }) => json);
  }

  /** `session` events that say that these bots are lost with their node. */
  lost(bots: readonly LostBot[], node: string, now: number): { id: string; json: string }[] {
    return bots.flatMap((bot) => {
      const { id } = bot;
      const known = this.#bots.get(id);
      const snapshot = known
        ? (JSON.parse(known.json) as { snapshot: BotSnapshot }).snapshot
        : { ...bot, restarts: 0, data: {} };
      if (snapshot.node !== undefined && snapshot.node !== node) return [];
      const lost: BotSnapshot = {
        ...snapshot,
        status: 'lost',
        since_ms: now,
        started_at_ms: null,
        host: null,
        usage: null,
        over_quota: [],
        next_try: null,
        last_error: `node ${node} is lost`,
      };
      return [{ id, json: sessionJson(lost) }];
    });
  }
}
