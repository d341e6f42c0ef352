import { type BotSnapshot, hasLeft } from '../shared/contract/events.js';
import type { NameHasher } from '../shared/contract/name-hash.js';
import type { BotCondition } from '../shared/query/line-query.js';
import type { BotJudge } from '../shared/stream/frame-query.js';

/** A bot as it is, and when it became so. */
export interface SeenBot {
  snapshot: BotSnapshot;
  since: number;
}

/** Gets the bots that have changed, come or left. */
export type BotListener = (key: number) => void;

/**
 * Runs in the rules thread. Owns a copy of every bot's snapshot as of the frame that is read, by the hash that frames have for the bot's
 * name.
 */
export class BotMirror {
  readonly #names: NameHasher;
  readonly #bots = new Map<number, SeenBot>();
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
    return this.of(low, high)?.snapshot.id;
  }

  of(low: number, high: number): SeenBot | undefined {
    return this.#bots.get(keyOf(low, high));
  }

  get(key: number): BotSnapshot | undefined {
    return this.#bots.get(key)?.snapshot;
  }

  /** Tells all bots, and each change until {@link unlisten}. It must be quick: it is told many in one turn. */
  listen(listener: BotListener): void {
    this.#listeners.add(listener);
    for (const key of this.#bots.keys()) listener(key);
  }

  unlisten(listener: BotListener): void {
    this.#listeners.delete(listener);
  }

  keys(): IterableIterator<number> {
    return this.#bots.keys();
  }

  #set(key: number, snapshot: BotSnapshot | undefined): void {
    if (snapshot) this.#bots.set(key, { snapshot, since: Date.now() });
    else this.#bots.delete(key);
    for (const listener of this.#listeners) listener(key);
  }
}

/** Judges the bots of lines: the mirror is as of the line that is read. A bot is looked at for the first line after its change. */
export class LiveJudge implements BotJudge {
  readonly since = 0;
  readonly known: number = Number.POSITIVE_INFINITY;
  readonly #mirror: BotMirror;
  readonly #condition: BotCondition;
  readonly #verdicts = new WeakMap<SeenBot, boolean>();
  #begun = 0;

  constructor(mirror: BotMirror, condition: BotCondition) {
    this.#mirror = mirror;
    this.#condition = condition;
  }

  begin(): void {
    this.#begun = Date.now();
  }

  end(): void {}

  had(low: number, high: number): boolean {
    const bot = low === 0 ? undefined : this.#mirror.of(low, high);
    if (!bot) return this.#condition.isOpen;
    let verdict = this.#verdicts.get(bot);
    if (verdict === undefined) {
      verdict = this.#condition.test(bot.snapshot, Math.max(bot.since, this.#begun));
      this.#verdicts.set(bot, verdict);
    }
    return verdict;
  }

  matches(snapshot: BotSnapshot): boolean {
    return this.#condition.test(snapshot, Date.now());
  }
}

/** 53 of the 64 bits of a name's hash: what a number can hold. */
function keyOf(low: number, high: number): number {
  return low * 2 ** 21 + (high >>> 11);
}
