import { type BotSnapshot, hasLeft } from '../shared/contract/events.js';
import type { NameHasher } from '../shared/contract/name-hash.js';
import type { BotCondition } from '../shared/query/line-query.js';
import type { BotJudge, BotsNow } from '../shared/stream/frame-query.js';

/** Gets each change of a bot; undefined for one that has left. */
export type BotListener = (key: number, snapshot: BotSnapshot | undefined) => void;

/**
 * Runs in the rules thread. Owns a copy of every bot's snapshot as of the frame that is read, by the hash that frames have for the bot's
 * name.
 */
export class BotMirror {
  readonly #names: NameHasher;
  readonly #bots = new Map<number, BotSnapshot>();
  readonly #listeners = new Set<BotListener>();

  constructor(names: NameHasher) {
    this.#names = names;
  }

  /** Starts over with these. @param sessions the JSON of `session` events. */
  reset(sessions: readonly string[]): void {
    this.clear();
    for (const json of sessions) this.see(json);
  }

  clear(): void {
    for (const key of [...this.#bots.keys()]) this.#set(key, undefined);
  }

  /** A bot has changed. @param json the data of a `session` event. */
  see(json: string): void {
    const { snapshot } = JSON.parse(json) as { snapshot: BotSnapshot };
    const { low, high } = this.#names.of(snapshot.id);
    this.#set(keyOf(low, high), hasLeft(snapshot.status) ? undefined : snapshot);
  }

  name(low: number, high: number): string | undefined {
    return this.#bots.get(keyOf(low, high))?.id;
  }

  /** Tells all bots, and each change until {@link unlisten}. */
  listen(listener: BotListener): void {
    this.#listeners.add(listener);
    for (const [key, snapshot] of this.#bots) listener(key, snapshot);
  }

  unlisten(listener: BotListener): void {
    this.#listeners.delete(listener);
  }

  *all(): Generator<readonly [key: number, snapshot: BotSnapshot]> {
    yield* this.#bots;
  }

  #set(key: number, snapshot: BotSnapshot | undefined): void {
    if (snapshot) this.#bots.set(key, snapshot);
    else this.#bots.delete(key);
    for (const listener of this.#listeners) listener(key, snapshot);
  }
}

/** Judges the bots of lines: the mirror is as of the line that is read. */
export class LiveJudge implements BotJudge {
  readonly since = 0;
  readonly known: number = Number.POSITIVE_INFINITY;
  readonly #mirror: BotMirror;
  readonly #condition: BotCondition;
  readonly #matching = new Set<number>();
  readonly #listener: BotListener = (key, snapshot) => {
    if (snapshot && this.matches(snapshot)) this.#matching.add(key);
    else this.#matching.delete(key);
  };

  constructor(mirror: BotMirror, condition: BotCondition) {
    this.#mirror = mirror;
    this.#condition = condition;
  }

  begin(): void {
    this.#mirror.listen(this.#listener);
  }

  end(): void {
    this.#mirror.unlisten(this.#listener);
  }

  had(low: number, high: number): boolean {
    if (low === 0 || this.#mirror.name(low, high) === undefined) return this.#condition.isOpen;
    return this.#matching.has(keyOf(low, high));
  }

  matches(snapshot: BotSnapshot): boolean {
    return this.#condition.test(snapshot, Date.now());
  }

  now(): BotsNow {
    const ids = [...this.#mirror.all()].flatMap(([key, { id }]) =>
      this.#matching.has(key) !== this.#condition.isOpen ? [id] : [],
    );
    return { areOthers: this.#condition.isOpen, ids };
  }
}

/** 53 of the 64 bits of a name's hash: what a number can hold. */
function keyOf(low: number, high: number): number {
  return low * 2 ** 21 + (high >>> 11);
}
