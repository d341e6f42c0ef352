import type { BotSnapshot } from '../../shared/contract/events.js';
import type { NameHash, NameHasher } from '../../shared/contract/name-hash.js';
import type { BotCondition } from '../../shared/query/line-query.js';
import { SpanHistory } from '../../shared/stream/span-history.js';

/** Different conditions at once: each change of a bot is judged for each of them. A further one is refused. */
const MAX_CONDITIONS = 100;
/** How long all conditions together, and each of them before the next one runs, judge bots until the thread does other work, in ms. */
const SLICE_MS = 2;
const TURN_MS = 0.5;
/**
 * Changes that a condition may be behind, beside the bots that it begins with. A condition that is further behind
 * starts over.
 */
const MAX_BEHIND = 65_536;

/** A bot has this snapshot from frame `from` on, undefined when it has left; the one before it counts until before `until`. */
interface Change {
  hash: NameHash;
  snapshot: BotSnapshot | undefined;
  from: number;
  until: number;
  /** When the snapshot arrived, for conditions about a time. */
  now: number;
}

/**
 * Runs in a front thread. Owns the spans of frames in which each bot matched a condition, as the mirror has seen them. Each change of a bot
 * costs one look for each different condition. A look can take milliseconds, so a condition may be behind: frames from `known` on cannot
 * be judged yet.
 */
export class MatchHistory extends SpanHistory<boolean> {
  readonly condition: BotCondition;
  users = 0;
  #waiting: Change[] = [];
  /** Index of the first change that is not judged yet. */
  #at = 0;
  #mostWaiting = MAX_BEHIND;

  constructor(condition: BotCondition) {
    super((one, other) => one === other);
    this.condition = condition;
  }

  /** Starts from these bots, which are all that existed just before frame `seq`. */
  begin(seq: number, bots: Change[]): void {
    this.restart(seq);
    this.known = seq;
    this.#waiting = bots;
    this.#mostWaiting = bots.length + MAX_BEHIND;
  }

  override restart(seq: number): void {
    super.restart(seq);
    this.#waiting = [];
    this.#at = 0;
  }

  /** Check {@link isTooFarBehind} after this, before anything is judged. */
  see(change: Change): void {
    if (!this.isTooFarBehind) this.#waiting.push(change);
  }

  /** Whether it has dropped changes and has to start over. */
  get isTooFarBehind(): boolean {
    return this.#waiting.length - this.#at > this.#mostWaiting;
  }

  get isBehind(): boolean {
    return this.#at < this.#waiting.length;
  }

  /** Judges at least one change. @param next frames below it are in the mirror. @param end by performance.now(). */
  judge(next: number, end: number): void {
    while (this.isBehind) {
      const { hash, snapshot, from, until, now } = this.#waiting[this.#at] as Change;
      this.#at += 1;
      if (snapshot) this.set(hash, this.condition.test(snapshot, now), from, until);
      else this.remove(hash, until);
      if (performance.now() >= end) break;
    }
    if (this.#at >= MAX_BEHIND || !this.isBehind) {
      this.#waiting = this.#waiting.slice(this.#at);
      this.#at = 0;
    }
    this.known = this.#waiting[this.#at]?.from ?? next;
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
  readonly #names: NameHasher;
  /** All bots that there are now. */
  readonly #bots: () => Iterable<{ snapshot: BotSnapshot }>;
  /** Frames below this are in the mirror. */
  #next = 0;
  /** Whether the next slice is scheduled. */
  #isWaiting = false;

  constructor(names: NameHasher, bots: () => Iterable<{ snapshot: BotSnapshot }>) {
    this.#names = names;
    this.#bots = bots;
  }

  hasRoomFor(key: string): boolean {
    return this.#byKey.has(key) || this.#byKey.size < MAX_CONDITIONS;
  }

  acquire(key: string, condition: BotCondition): MatchHistory {
    let history = this.#byKey.get(key);
    if (!history) {
      history = new MatchHistory(condition);
      this.#begin(history);
      this.#byKey.set(key, history);
      this.#judge();
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

  /** @param snapshot undefined: the bot does not exist from frame `until` on. */
  see(hash: NameHash, snapshot: BotSnapshot | undefined, from: number, until: number): void {
    if (this.#byKey.size === 0) return;
    const change = { hash, snapshot, from, until, now: Date.now() };
    for (const history of this.#byKey.values()) history.see(change);
  }

  moveTo(next: number, tail: number): void {
    this.#next = next;
    for (const history of this.#byKey.values()) {
      if (history.isTooFarBehind) this.#begin(history);
      if (!history.isBehind) history.known = next;
      history.prune(tail);
    }
    this.#judge();
  }

  #begin(history: MatchHistory): void {
    const now = Date.now();
    const next = this.#next;
    const all = [...this.#bots()].map(({ snapshot }) => {
      return { hash: this.#names.of(snapshot.id), snapshot, from: next, until: next, now };
    });
    history.begin(next, all);
  }

  /** Judges waiting changes for one slice, and schedules the rest after other work. */
  #judge(): void {
    let now = performance.now();
    const end = now + SLICE_MS;
    let isBehind = false;
    for (const [key, history] of [...this.#byKey]) {
      if (history.isBehind && now < end) {
        history.judge(this.#next, Math.min(end, now + TURN_MS));
        now = performance.now();
        // Moves this condition to the end, so that the others come first next time.
        this.#byKey.delete(key);
        this.#byKey.set(key, history);
      }
      isBehind ||= history.isBehind;
    }
    if (!isBehind || this.#isWaiting) return;
    this.#isWaiting = true;
    setImmediate(() => {
      this.#isWaiting = false;
      this.#judge();
    });
  }
}
