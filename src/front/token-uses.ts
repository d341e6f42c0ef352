import type { Authenticator } from './auth.js';

const FLUSH_MS = 5000;

/** Runs in a front thread. Owns the timer that reports to main when each token was last used. */
export class TokenUses {
  readonly #auth: Pick<Authenticator, 'takeUses'>;
  readonly #report: (uses: Record<string, number>) => void;
  readonly #timer: NodeJS.Timeout;

  /** @param report gets Unix epoch milliseconds by token id, every 5 s when there are any. */
  constructor(
    auth: Pick<Authenticator, 'takeUses'>,
    report: (uses: Record<string, number>) => void,
  ) {
    this.#auth = auth;
    this.#report = report;
    this.#timer = setInterval(() => this.flush(), FLUSH_MS);
  }

  /** Reports now. */
  flush(): void {
    const uses = this.#auth.takeUses();
    if (Object.keys(uses).length > 0) this.#report(uses);
  }

  /** Reports the last uses and stops the timer. */
  stop(): void {
    clearInterval(this.#timer);
    this.flush();
  }
}
