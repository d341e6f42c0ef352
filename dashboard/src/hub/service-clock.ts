// Runs in the hub. Owns how far this machine's clock is from the service's: every answer says what time it is there.

import type { Fetch } from '../../../src/client/index.js';

/** The Date header has whole seconds; a difference below this is none. */
const SLACK_MS = 2000;

export class ServiceClock {
  /** How far this machine's clock is ahead, in ms. */
  aheadMs = 0;
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** `fetch`, which looks at the clock. */
  readonly fetch: Fetch = async (...request) => {
    const asked = Date.now();
    const answer = await fetch(...request);
    const theirs = Date.parse(answer.headers.get('date') ?? '');
    // The header is cut to the second.
    if (!Number.isNaN(theirs)) this.#set((asked + Date.now()) / 2 - (theirs + 500));
    return answer;
  };

  #set(measuredMs: number): void {
    const ahead = Math.abs(measuredMs) < SLACK_MS ? 0 : Math.round(measuredMs);
    if (ahead === this.aheadMs) return;
    this.aheadMs = ahead;
    this.#changed();
  }
}
