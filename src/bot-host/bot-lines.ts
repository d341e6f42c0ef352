// Runs in a bot host thread. Owns the line budget of one bot.

import type { Level } from '../shared/contract/event-kinds.js';
import type { LogEvent } from '../shared/contract/events.js';
import { messageJson } from '../shared/contract/line-text.js';
import type { Outbox } from './outbox.js';
import { SecretMask } from './secret-mask.js';

/** Skipped lines are counted for this long, in ms, before a line reports them. */
const REPORT_MS = 1000;

/** A bot that has spent more than this part of its budget writes much. */
const MUCH = 0.1;
/** Lines that a bot may write after the signal to stop, of all levels together. */
const LAST_LINES = 1000;

/** A line without its message. */
export interface LineKind {
  level: Level;
  scope: string;
  transport: LogEvent['transport'];
  direction: LogEvent['direction'];
}

/**
 * Bounded twice: by the bot's rate (a token bucket that holds the lines of one second) and by the outbox. Above either
 * bound `info` lines are skipped and counted, and a `warn` line reports the count. Other lines are skipped only when the bot
 * has been told to stop and has written LAST_LINES since.
 */
export class BotLines {
  readonly #outbox: Outbox;
  readonly #id: string;
  readonly #perSecond: number;
  /** For everything else that the bot publishes. */
  readonly mask: SecretMask;
  #budget: number;
  #filledAt = Date.now();
  #skipped = 0;
  #closed = false;
  /** How many more lines it may write; infinite until it is told to stop. */
  #left = Number.POSITIVE_INFINITY;
  #report: NodeJS.Timeout | undefined;

  /** @param perSecond 0 for no limit. @param secrets are masked in everything that the bot publishes. */
  constructor(outbox: Outbox, id: string, perSecond: number, secrets: readonly string[] = []) {
    this.#outbox = outbox;
    this.#id = id;
    this.#perSecond = perSecond;
    this.mask = new SecretMask(secrets);
    this.#budget = perSecond;
  }

  /** @param message or what makes it: called when the line is not skipped. */
  write(line: LineKind, message: string | (() => string)): void {
    if (this.#closed) return;
    const now = Date.now();
    if (this.#left <= 0 || (line.level === 'info' && !this.#hasRoom(now))) {
      this.#skipped += 1;
      this.#report ??= setTimeout(() => this.flush(), REPORT_MS);
      return;
    }
    this.#left -= 1;
    this.#add(line, message, now);
  }

  /** Writes a line of the host about the bot, which no bound applies to. */
  warn(message: string): void {
    if (this.#closed) return;
    const line: LineKind = { level: 'warn', scope: 'bot', transport: null, direction: null };
    this.#add(line, message, Date.now());
  }

  /** The bot has been told to stop: a loop that ignores that must not write without end. */
  limitLast(): void {
    this.#left = LAST_LINES;
  }

  /** Reports skipped lines now, if there are any. */
  flush(): void {
    clearTimeout(this.#report);
    this.#report = undefined;
    if (this.#skipped === 0) return;
    const message =
      this.#left <= 0
        ? `${this.#skipped} lines were skipped: a bot may write ${LAST_LINES} after the signal to stop`
        : `${this.#skipped} info lines were skipped: rate limit exceeded`;
    this.#skipped = 0;
    this.warn(message);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** No lines are accepted after this. */
  close(): void {
    this.flush();
    this.#closed = true;
  }

  #add(
    { level, scope, transport, direction }: LineKind,
    message: string | (() => string),
    now: number,
  ): void {
    this.#outbox.add({
      kind: 'log',
      timestamp_ms: now,
      level,
      scope,
      session_id: this.#id,
      transport,
      direction,
      message_json: messageJson(this.mask.text(typeof message === 'string' ? message : message())),
    });
  }

  #hasRoom(now: number): boolean {
    return this.#outbox.hasRoom(this.#writesMuch()) && this.#spend(now);
  }

  #writesMuch(): boolean {
    return this.#budget < this.#perSecond * (1 - MUCH);
  }

  #spend(now: number): boolean {
    if (this.#perSecond === 0) return true;
    if (now > this.#filledAt) {
      const refill = ((now - this.#filledAt) / 1000) * this.#perSecond;
      this.#budget = Math.min(this.#perSecond, this.#budget + refill);
    }
    this.#filledAt = now;
    if (this.#budget < 1) return false;
    this.#budget -= 1;
    return true;
  }
}
