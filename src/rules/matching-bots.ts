import { MAX_RULE_BOTS } from '../shared/contract/rule-bounds.js';
import { type BotTest, botTest, isAboutTime } from '../shared/query/bot-query.js';
import type { Query } from '../shared/query/term.js';
import type { BotListener, BotMirror } from './bot-mirror.js';

/** Runs in the rules thread. Owns the ids of the bots that match a query now. Each change of a bot costs one look. */
export class MatchingBots {
  readonly #mirror: BotMirror;
  readonly #test: BotTest;
  readonly #isAboutTime: boolean;
  readonly #matching = new Map<number, string>();
  readonly #listener: BotListener = (key, snapshot) => {
    if (snapshot && this.#test(snapshot, Date.now())) this.#matching.set(key, snapshot.id);
    else this.#matching.delete(key);
  };

  constructor(mirror: BotMirror, query: Query) {
    this.#mirror = mirror;
    this.#test = botTest(query);
    this.#isAboutTime = isAboutTime(query);
    mirror.listen(this.#listener);
  }

  /** To be called before each look. */
  refresh(): void {
    if (!this.#isAboutTime) return;
    for (const [key, snapshot] of this.#mirror.all()) this.#listener(key, snapshot);
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
