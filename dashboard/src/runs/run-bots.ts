// Runs in the worker of a run. Owns its bots, and each change of a status: what the herd was at any moment.

import type { BotSnapshot, BotState } from '../../../src/client/index.js';
import { hasLeft } from '../../../src/shared/contract/events.js';
import { Floats, Words } from './columns.js';
import type { RunBot } from './run-facts.js';

/** Bots of a run that are kept. */
export const MAX_BOTS = 20_000;
/** Changes of statuses that are kept: 16 bytes each. */
const MAX_CHANGES = 2_000_000;
/** Different statuses that are kept: bots name their own. Further ones are called `MANY`. */
const MAX_STATUSES = 10_000;
const MANY = '…';

/** A bot as the herd shows it: its data are how many lines it wrote in the whole run. */
type HerdBot = BotState & { data: Record<string, number> };

export class RunBots {
  readonly #bots: RunBot[] = [];
  readonly #index = new Map<string, number>();
  readonly #errors = new Map<number, string | null>();
  readonly #at = new Floats();
  readonly #bot = new Words();
  readonly #status = new Words();
  readonly #statuses: string[] = [];
  readonly #statusIndex = new Map<string, number>();
  /** Changes from this time on are not kept, in ms since the start; undefined if all are. */
  fullMs: number | undefined;
  isFull = false;

  get all(): readonly RunBot[] {
    return this.#bots;
  }

  countLine(id: string, isError: boolean): void {
    const bot = this.#bots[this.#index.get(id) ?? -1];
    if (!bot) return;
    bot.lines += 1;
    if (isError) bot.errors += 1;
  }

  /** @returns why the bot failed with this snapshot, if it did; an error from before the run does not count. */
  see(snapshot: BotSnapshot, atMs: number): string | undefined {
    const { id, kind, labels, host, node, last_error } = snapshot;
    const status = this.#statusOf(snapshot.status);
    let index = this.#index.get(id);
    if (index === undefined) {
      if (this.#bots.length >= MAX_BOTS) {
        this.isFull = true;
        return undefined;
      }
      index = this.#bots.length;
      this.#index.set(id, index);
      const none = { lines: 0, errors: 0 };
      const own = { id, kind, labels, host, ...(node != null && { node }) };
      this.#bots.push({ ...own, ...none, firstMs: atMs, status: '' });
    }
    const isKnown = this.#errors.has(index);
    const before = this.#errors.get(index) ?? null;
    this.#errors.set(index, last_error);
    const bot = this.#bots[index] as RunBot;
    const was = bot.status;
    bot.labels = labels;
    bot.host = host;
    const name = this.#statuses[status] ?? MANY;
    if (was !== name) {
      bot.status = name;
      if (this.#at.length < MAX_CHANGES) {
        this.#at.push(atMs);
        this.#bot.push(index);
        this.#status.push(status);
      } else this.fullMs ??= atMs;
    }
    if (!isKnown || last_error === null) return undefined;
    const hasFailed =
      was !== name && (name === 'failed' || name === 'backoff') && was !== 'backoff';
    return hasFailed || last_error !== before ? last_error : undefined;
  }

  /** The bots that existed at a moment. @param startedAtMs when the run began. */
  at(atMs: number, startedAtMs: number): HerdBot[] {
    const found = new Map<number, number>();
    for (let change = 0; change < this.#at.length && this.#at.at(change) <= atMs; change++) {
      found.set(this.#bot.at(change), change);
    }
    return [...found].flatMap(([index, change]): HerdBot[] => {
      const bot = this.#bots[index];
      const status = this.#statuses[this.#status.at(change)] ?? MANY;
      if (!bot || hasLeft(status)) return [];
      const { lines, errors, firstMs: _, ...own } = bot;
      const since_ms = startedAtMs + this.#at.at(change);
      const counts = { lines, errors };
      return [{ ...own, status, desired: 'running', restarts: 0, since_ms, data: counts }];
    });
  }

  #statusOf(status: string): number {
    const known = this.#statusIndex.get(status);
    if (known !== undefined) return known;
    if (this.#statuses.length >= MAX_STATUSES) return MAX_STATUSES;
    this.#statuses.push(status);
    this.#statusIndex.set(status, this.#statuses.length - 1);
    return this.#statuses.length - 1;
  }
}
