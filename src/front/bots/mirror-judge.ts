import type { BotSnapshot } from '../../shared/contract/events.js';
import { DroverError } from '../../shared/errors.js';
import type { BotCondition } from '../../shared/query/line-query.js';
import type { BotJudge, BotsNow } from '../../shared/stream/frame-query.js';
import { findBots } from './bot-selection.js';
import type { MatchHistory } from './match-histories.js';
import type { SnapshotMirror } from './snapshot-mirror.js';

/** Judges bots by a front's mirror. */
export class MirrorJudge implements BotJudge {
  readonly #mirror: SnapshotMirror;
  readonly #key: string;
  readonly #condition: BotCondition;
  #history: MatchHistory | undefined;

  /** @throws DroverError `unavailable` when the mirror judges for too many others. */
  constructor(mirror: SnapshotMirror, key: string, condition: BotCondition) {
    if (!mirror.matches.hasRoomFor(key)) {
      throw new DroverError(
        'unavailable',
        'too many different queries about bots are open; close some, or select by bot, level or scope',
      );
    }
    this.#mirror = mirror;
    this.#key = key;
    this.#condition = condition;
  }

  begin(): void {
    this.#history ??= this.#mirror.matches.acquire(this.#key, this.#condition);
  }

  end(): void {
    if (this.#history) this.#mirror.matches.release(this.#key);
    this.#history = undefined;
  }

  get since(): number {
    return this.#history?.since ?? 0;
  }

  get known(): number {
    return this.#history?.known ?? Number.POSITIVE_INFINITY;
  }

  had(low: number, high: number, seq: number): boolean {
    return this.#history?.had(low, high, seq) ?? false;
  }

  matches(snapshot: BotSnapshot): boolean {
    return this.#condition.test(snapshot, Date.now());
  }

  async now(): Promise<BotsNow> {
    const { test, isOpen } = this.#condition;
    const found = await findBots(this.#mirror, (bot, now) => test(bot, now) !== isOpen);
    return { areOthers: isOpen, ids: [...found] };
  }
}
