// Runs in the bus thread. Owns the latest snapshot of every bot of the cluster, as of what was read from the stream.

import { AT_REST, type BotSnapshot } from '../../shared/contract/events.js';
import { sessionJson } from '../../shared/stream/frame.js';
import type { LostBot } from '../wire/bus-messages.js';

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

  /** Ids of the bots that a node has, as they say. */
  on(node: string): string[] {
    return [...this.#bots.keys()].filter((id) => this.#snapshotOf(id)?.node === node);
  }

  /** The `session` event that says that a bot is lost with its node. Null when it is on another one. */
  lost(bot: LostBot, node: string, now: number): string | null {
    const snapshot = this.#snapshotOf(bot.id) ?? { ...bot, restarts: 0, data: {} };
    if (snapshot.node !== undefined && snapshot.node !== node) return null;
    const error = `node ${node} is lost`;
    return sessionJson({
      ...snapshot,
      ...AT_REST,
      status: 'lost',
      since_ms: now,
      last_error: error,
    });
  }

  /** The same of one that was deleted, of which its node has not said it. */
  deleted(id: string, node: string, now: number): string | null {
    const snapshot = this.#snapshotOf(id);
    if (snapshot?.node !== node) return null;
    const gone = { ...AT_REST, status: 'deleted', desired: 'stopped' as const, since_ms: now };
    return sessionJson({ ...snapshot, ...gone });
  }

  #snapshotOf(id: string): BotSnapshot | undefined {
    const known = this.#bots.get(id);
    return known && (JSON.parse(known.json) as { snapshot: BotSnapshot }).snapshot;
  }
}
