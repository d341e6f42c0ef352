// Runs in main. Owns the rate limit of the security events on the stream, scope `auth`. They never contain a PIN, a token
// or a ticket.

import type { Level } from '../../shared/contract/event-kinds.js';
import { AUTH_SCOPE } from '../../shared/contract/scopes.js';

/** Lines of one sort in one window. Lines above it are counted, and the count is published at the end of the window. */
const MAX_LINES = 60;
const WINDOW_MS = 60_000;

/** Puts a line on the stream. */
export type Say = (level: Level, scope: string, message: string) => void;

export class SecurityEvents {
  /** Limited separately, so that a flood of one does not hide the other. */
  readonly #pins: BoundedLines;
  readonly #tokens: BoundedLines;
  readonly #now: () => number;
  #lockedUntil = 0;

  /**
   * @param warn gets the warnings too: for people and programs that read the service's standard error.
   * @param now milliseconds on a monotonic clock.
   */
  constructor(
    say: Say,
    warn: (message: string) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#pins = new BoundedLines((level, scope, message) => {
      say(level, scope, message);
      warn(message);
    }, 'PINs');
    this.#tokens = new BoundedLines(say, 'tokens');
    this.#now = now;
  }

  /** @param lockedForS for how many seconds this attempt locks the PIN exchange; 0 for none. */
  wrongPin(address: string, lockedForS: number): void {
    this.#pins.add('warn', `wrong PIN from ${address}`);
    const now = this.#now();
    // Two fronts can both find the bucket empty after the attempt of one of them.
    if (lockedForS === 0 || now < this.#lockedUntil) return;
    this.#lockedUntil = now + lockedForS * 1000;
    this.#pins.add('warn', `the PIN exchange is locked for ${lockedForS}s, last by ${address}`);
  }

  tokenCreated(token: string, by: string): void {
    this.#tokens.add('info', `${token} was created ${by}`);
  }

  linkCreated(scopes: string, by: string): void {
    this.#tokens.add('info', `a sign-in link with the scopes ${scopes} was created by ${by}`);
  }

  tokenRemoved(token: string, why: string): void {
    this.#tokens.add('info', `${token} ${why}`);
  }

  /** Stops the timers. */
  stop(): void {
    this.#pins.stop();
    this.#tokens.stop();
  }
}

class BoundedLines {
  readonly #say: Say;
  readonly #what: string;
  #lines = 0;
  #skipped = 0;
  #window: NodeJS.Timeout | undefined;

  constructor(say: Say, what: string) {
    this.#say = say;
    this.#what = what;
  }

  add(level: Level, message: string): void {
    this.#window ??= setTimeout(() => this.#end(), WINDOW_MS);
    if (this.#lines >= MAX_LINES) {
      this.#skipped += 1;
      return;
    }
    this.#lines += 1;
    this.#say(level, AUTH_SCOPE, message);
  }

  stop(): void {
    clearTimeout(this.#window);
  }

  #end(): void {
    const skipped = this.#skipped;
    this.#window = undefined;
    this.#lines = 0;
    this.#skipped = 0;
    if (skipped > 0)
      this.add('warn', `${skipped} more events of ${this.#what} were skipped: rate limit exceeded`);
  }
}
