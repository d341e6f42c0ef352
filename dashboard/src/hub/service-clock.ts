import type { Fetch } from '../../../src/client/index.js';

/** The Date header has a resolution of 1 s, so smaller differences are ignored. */
const SLACK_MS = 1000;
/** A response that took longer says little: on a slow network all of that is the way back. In ms. */
const MAX_TRIP_MS = 2000;

/** Measures the difference to the service's clock from the Date headers. */
export class ServiceClock {
  /** How far this machine's clock is ahead of the service's, in ms. */
  aheadMs = 0;
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** A `fetch` that reads the Date header of each response. */
  readonly fetch: Fetch = async (...request) => {
    const asked = Date.now();
    const answer = await fetch(...request);
    const theirs = Date.parse(answer.headers.get('date') ?? '');
    // Rounded down to the second, so half a second on average.
    const now = Date.now();
    if (now - asked <= MAX_TRIP_MS && !Number.isNaN(theirs))
      this.#set((asked + now) / 2 - (theirs + 500));
    return answer;
  };

  #set(measuredMs: number): void {
    const ahead = Math.abs(measuredMs) < SLACK_MS ? 0 : Math.round(measuredMs);
    if (ahead === this.aheadMs) return;
    this.aheadMs = ahead;
    this.#changed();
  }
}
