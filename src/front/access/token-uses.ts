import type { TokenUse } from '../../shared/contract/tokens.js';
import type { Authenticator } from './auth.js';
import type { TokenStreams } from './token-streams.js';

const FLUSH_MS = 5000;
/** How often an open stream counts as a use of its token, in ms. */
const STREAMING_MS = 900_000;

/** Runs in a front thread. Owns the timers that report to main when and where each token was last used. */
export class TokenUses {
  readonly #auth: Pick<Authenticator, 'takeUses'>;
  readonly #streams: Pick<TokenStreams, 'tokens'>;
  readonly #report: (uses: Record<string, TokenUse>) => void;
  readonly #timers: readonly NodeJS.Timeout[];

  /** @param report gets the uses by token id, every 5 s when there are any. */
  constructor(
    auth: Pick<Authenticator, 'takeUses'>,
    streams: Pick<TokenStreams, 'tokens'>,
    report: (uses: Record<string, TokenUse>) => void,
  ) {
    this.#auth = auth;
    this.#streams = streams;
    this.#report = report;
    this.#timers = [
      setInterval(() => this.flush(), FLUSH_MS),
      setInterval(() => this.#flushStreaming(), STREAMING_MS),
    ];
  }

  flush(): void {
    this.#send(this.#auth.takeUses());
  }

  /** Reports the last uses and stops the timers. */
  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#flushStreaming();
  }

  #flushStreaming(): void {
    const uses = this.#auth.takeUses();
    const at_ms = Date.now();
    for (const id of this.#streams.tokens()) uses[id] = { at_ms, from: uses[id]?.from ?? null };
    this.#send(uses);
  }

  #send(uses: Record<string, TokenUse>): void {
    if (Object.keys(uses).length > 0) this.#report(uses);
  }
}
