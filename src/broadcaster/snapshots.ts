// Runs in the broadcaster. Owns the latest snapshot of every bot.

import { type BotSnapshot, hasLeft } from '../shared/contract/events.js';

/** The snapshot of a new bot, before its first change is merged. */
function blank(id: string): BotSnapshot {
  return {
    id,
    kind: '',
    status: 'stopped',
    desired: 'stopped',
    since_ms: 0,
    started_at_ms: null,
    restarts: 0,
    host: null,
    last_error: null,
    labels: {},
    data: {},
    usage: null,
    over_quota: [],
    next_try: null,
    version: null,
  };
}

export class SnapshotStore {
  readonly #snapshots = new Map<string, BotSnapshot>();

  /**
   * Merges a change into the bot's snapshot and returns the whole snapshot. Adds a bot that is unknown, and removes one with
   * the status `deleted` or `moved`.
   */
  merge(id: string, patch: Partial<BotSnapshot>): BotSnapshot {
    const snapshot = { ...(this.#snapshots.get(id) ?? blank(id)), ...patch, id };
    if (hasLeft(snapshot.status)) this.#snapshots.delete(id);
    else this.#snapshots.set(id, snapshot);
    return snapshot;
  }

  get(id: string): Readonly<BotSnapshot> | undefined {
    return this.#snapshots.get(id);
  }

  /** All snapshots, in the order in which the bots appeared. */
  all(): BotSnapshot[] {
    return [...this.#snapshots.values()];
  }
}
