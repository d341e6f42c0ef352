import { MAX_RULE_BOTS } from '../shared/contract/rule-bounds.js';
import { type BotTest, botTest, isAboutTime } from '../shared/query/bot-query.js';
import type { Query } from '../shared/query/term.js';
import type { BotListener, BotMirror } from './bot-mirror.js';

/**
 * Runs in the rules thread. Owns the ids of the bots that match a query now. Each change of a bot costs one look, which can take
 * milliseconds: those that have changed wait for theirs.
 */
export class MatchingBots {
  readonly #mirror: BotMirror;
  readonly #test: BotTest;
  readonly #isAboutTime: boolean;
  readonly #matching = new Map<number, string>();
  readonly #changed = new Set<number>();
  readonly #listener: BotListener = (key) => this.#changed.add(key);

  constructor(mirror: BotMirror, query: Query) {
    this.#mirror = mirror;
    this.#test = botTest(query);
    this.#isAboutTime = isAboutTime(query);
    mirror.listen(this.#listener);
  }

  /** All bots have to be looked at again when time changes what matches. */
  refresh(): void {
    if (!this.#isAboutTime) return;
    for (const key of this.#mirror.keys()) this.#changed.add(key);
  }

  /** Looks at the bots that have changed. To be done before {@link count} is read. @param isOver asked after each: it yields then. */
  *catchUp(isOver: () => boolean): Generator<undefined> {
    for (const key of this.#changed) {
      this.#changed.delete(key);
      const snapshot = this.#mirror.get(key);
      if (snapshot && this.#test(snapshot, Date.now())) this.#matching.set(key, snapshot.id);
      else this.#matching.delete(key);
      if (isOver()) yield;
    }
  }

  get count(): number {
    return this.#matching.size;
  }

  get sample(): string[] {
    const sample: string[] = [];
    for (const id of this.#matching.values()) {
      if (sample.length === MAX_RULE_BOTS) break;
      sample.push(id);
    }
    return sample;
  }

  end(): void {
    this.#mirror.unlisten(this.#listener);
  }
}
