import type { BotSnapshot } from '../shared/contract/events.js';
import type { NameHash } from '../shared/contract/name-hash.js';
import type { BotCondition } from '../shared/query/line-query.js';
import { SpanHistory } from '../shared/stream/span-history.js';

/** Different conditions at once: each change of a bot is judged for each of them. A further one is refused. */
const MAX_CONDITIONS = 100;

/**
 * Runs in a front thread. Owns the spans of frames in which each bot matched a condition, as the mirror has seen them. Each change of a bot
 * costs one look for each different condition.
 */
export class MatchHistory extends SpanHistory<boolean> {
  readonly condition: BotCondition;
  users = 0;

  constructor(condition: BotCondition) {
    super((one, other) => one === other);
    this.condition = condition;
  }

  /** A bot has this snapshot from frame `from` on. */
  see(hash: NameHash, snapshot: BotSnapshot, from: number, until: number): void {
    this.set(hash, this.condition.test(snapshot, Date.now()), from, until);
  }

  /** Whether the bot of frame `seq` matched then. */
  had(low: number, high: number, seq: number): boolean {
    const then = low === 0 ? [] : this.at(low, high, seq);
    return then.length === 0 ? this.condition.isOpen : then.includes(true);
  }
}

/** Runs in a front thread. Owns the histories of all conditions that open streams have about bots. */
export class MatchHistories {
  readonly #byKey = new Map<string, MatchHistory>();

  hasRoomFor(key: string): boolean {
    return this.#byKey.has(key) || this.#byKey.size < MAX_CONDITIONS;
  }

  /** @param begin fills a new one. */
  acquire(
    key: string,
    condition: BotCondition,
    begin: (history: MatchHistory) => void,
  ): MatchHistory {
    let history = this.#byKey.get(key);
    if (!history) {
      history = new MatchHistory(condition);
      begin(history);
      this.#byKey.set(key, history);
    }
    history.users += 1;
    return history;
  }

  release(key: string): void {
    const history = this.#byKey.get(key);
    if (!history) return;
    history.users -= 1;
    if (history.users === 0) this.#byKey.delete(key);
  }

  restart(seq: number): void {
    for (const history of this.#byKey.values()) history.restart(seq);
  }

  see(hash: NameHash, snapshot: BotSnapshot, from: number, until: number): void {
    for (const history of this.#byKey.values()) history.see(hash, snapshot, from, until);
  }

  remove(hash: NameHash, until: number): void {
    for (const history of this.#byKey.values()) history.remove(hash, until);
  }

  moveTo(next: number, tail: number): void {
    for (const history of this.#byKey.values()) {
      history.known = next;
      history.prune(tail);
    }
  }
}
