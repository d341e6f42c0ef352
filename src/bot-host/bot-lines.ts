// Runs in a bot host thread. Owns the lines of one bot: how each becomes an event, and which are skipped.

import type { Level } from '../shared/contract/event-kinds.js';
import type { LogEvent } from '../shared/contract/events.js';
import { messageJson } from '../shared/contract/line-text.js';
import type { Outbox } from './outbox.js';
import { blotter } from './redact.js';

/** Skipped lines are counted for this long, in ms, before one line says how many they were. */
const REPORT_MS = 1000;

/** A bot writes much when it has spent more than this part of its budget. */
const MUCH = 0.1;

/** What a line is besides its message. */
export interface LineKind {
  level: Level;
  scope: string;
  transport: LogEvent['transport'];
  direction: LogEvent['direction'];
}

/**
 * Bounded twice: by the bot's own rate (a token bucket as large as one second's lines) and by the outbox. Over either
 * bound `info` lines are skipped and counted, and a `warn` line says how many; other lines are never skipped.
 */
export class BotLines {
  readonly #outbox: Outbox;
  readonly #id: string;
  readonly #perSecond: number;
  /** Undefined for a bot without secrets, so that its lines cost nothing more. */
  readonly #blot: ((text: string) => string) | undefined;
  #budget: number;
  #filledAt = Date.now();
  #skipped = 0;
  #closed = false;
  #report: NodeJS.Timeout | undefined;

  /** @param perSecond 0 for no limit. @param secrets are not to be seen in anything that the bot says. */
  constructor(outbox: Outbox, id: string, perSecond: number, secrets: readonly string[] = []) {
    this.#outbox = outbox;
    this.#id = id;
    this.#perSecond = perSecond;
    this.#blot = blotter(secrets);
    this.#budget = perSecond;
  }

  get hasSecrets(): boolean {
    return this.#blot !== undefined;
  }

  /** The text as it may be shown: without the bot's secrets. */
  shown(text: string): string {
    return this.#blot ? this.#blot(text) : text;
  }

  write({ level, scope, transport, direction }: LineKind, message: string): void {
    if (this.#closed) return;
    const now = Date.now();
    if (level === 'info' && !(this.#outbox.hasRoom(this.#writesMuch()) && this.#spend(now))) {
      this.#skipped += 1;
      this.#report ??= setTimeout(() => this.flush(), REPORT_MS);
      return;
    }
    this.#outbox.add({
      kind: 'log',
      timestamp_ms: now,
      level,
      scope,
      session_id: this.#id,
      transport,
      direction,
      // Bot code is not always TypeScript: what is not a string must not break the batch.
      message_json: messageJson(
        this.shown(typeof message === 'string' ? message : String(message)),
      ),
    });
  }

  /** Says now how many lines were skipped, if any were. */
  flush(): void {
    clearTimeout(this.#report);
    this.#report = undefined;
    if (this.#skipped === 0) return;
    const message = `${this.#skipped} info lines were skipped: they came faster than they may`;
    this.#skipped = 0;
    this.write({ level: 'warn', scope: 'bot', transport: null, direction: null }, message);
  }

  /** No more lines are taken. */
  close(): void {
    this.flush();
    this.#closed = true;
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
