// Runs in main. Names bots that hold the event loop of their host, and moves those that do it again and again. Owns the recent holds of
// each such bot.

import type { HostThread } from '../threads/host-thread.js';

/** Actions against slow bots. */
export interface SlowBotActions {
  /** Writes a line of the service: callers that see only other bots must not learn of it. */
  warn(line: string): void;
  /** Writes a line of the bot. */
  warnBot(id: string, line: string): void;
  /** Gives the bot its own host, unless it has one or there can be no more. */
  isolate(id: string, host: HostThread, reason: string): void;
}

interface Hold {
  at: number;
  forMs: number;
}

interface SlowBot {
  /** Within the window, oldest first. Bounded: a host can be held no more often than the window has holds. */
  holds: Hold[];
  /** When the bot was named, and its holds since then. */
  namedAt: number;
  since: number;
  longestMs: number;
}

/** How far back holds count, in ms. */
const WINDOW_MS = 5 * 60_000;
/** A bot that holds its host once or twice has done something large, and is not moved for it. */
const MIN_HOLDS = 3;
/** A bot is named once in this time, in ms. */
const NAME_EVERY_MS = 60_000;
/** Lines of the service in that time. Further ones are counted, and the next line has the number. */
const MAX_LINES = 20;

export class SlowBots {
  readonly #isolateMs: number;
  readonly #actions: SlowBotActions;
  readonly #now: () => number;
  /** By id. Bounded by the bots; those that have held nothing within the window are removed. */
  readonly #bots = new Map<string, SlowBot>();
  /** When the lines of the service were written, oldest first. Bounded by MAX_LINES. */
  #lines: number[] = [];
  #untold = 0;

  /** @param isolateMs from how much within the window on a bot is moved, null for never. @param now a monotonic clock in ms. */
  constructor(isolateMs: number | null, actions: SlowBotActions, now = () => performance.now()) {
    this.#isolateMs = isolateMs ?? Number.POSITIVE_INFINITY;
    this.#actions = actions;
    this.#now = now;
  }

  /** The bot has held the loop of its host for so long. */
  held(host: HostThread, id: string, forMs: number): void {
    const now = this.#now();
    this.#forget(now);
    const bot = this.#bots.get(id) ?? {
      holds: [],
      namedAt: Number.NEGATIVE_INFINITY,
      since: 0,
      longestMs: 0,
    };
    this.#bots.set(id, bot);
    bot.holds.push({ at: now, forMs });
    bot.since += 1;
    bot.longestMs = Math.max(bot.longestMs, forMs);
    if (now - bot.namedAt >= NAME_EVERY_MS) this.#name(host, id, bot, now);
    const total = bot.holds.reduce((sum, hold) => sum + hold.forMs, 0);
    if (bot.holds.length < MIN_HOLDS || total < this.#isolateMs) return;
    this.#bots.delete(id);
    const reason = `it held the event loop of its bot host ${bot.holds.length} times, for ${total} ms in all, within ${WINDOW_MS / 60_000} minutes`;
    this.#actions.isolate(id, host, reason);
  }

  #name(host: HostThread, id: string, bot: SlowBot, now: number): void {
    const { since, longestMs } = bot;
    bot.namedAt = now;
    bot.since = 0;
    bot.longestMs = 0;
    const times = since === 1 ? '' : ` at most (${since} times since the last such line)`;
    this.#actions.warnBot(
      id,
      `its code held the event loop of its bot host for ${longestMs} ms${times}: no other bot there could run meanwhile`,
    );
    this.#lines = this.#lines.filter((at) => at > now - NAME_EVERY_MS);
    if (this.#lines.length >= MAX_LINES) {
      this.#untold += 1;
      return;
    }
    this.#lines.push(now);
    const untold = this.#untold === 0 ? '' : `; ${this.#untold} further bots did so before`;
    this.#untold = 0;
    this.#actions.warn(
      `bot ${id} held the event loop of bot host ${host.number} for ${longestMs} ms${times}${untold}`,
    );
  }

  #forget(now: number): void {
    for (const [id, bot] of this.#bots) {
      bot.holds = bot.holds.filter(({ at }) => at > now - WINDOW_MS);
      if (bot.holds.length === 0) this.#bots.delete(id);
    }
  }
}
