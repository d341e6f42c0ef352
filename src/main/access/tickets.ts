// Runs in main. Owns the tickets for `GET /events?ticket=`. All fronts redeem them here, so a ticket works only once.

import { OneTimeCodes } from './one-time-codes.js';

/** How long a ticket is valid, in ms. */
export const TICKET_MS = 30_000;
const MAX_TICKETS = 10_000;
const MAX_TICKETS_PER_TOKEN = 1000;

export class TicketBook {
  readonly #codes: OneTimeCodes<null>;

  /** @param now Unix epoch milliseconds. */
  constructor(now: () => number = Date.now) {
    const bounds = { validMs: TICKET_MS, max: MAX_TICKETS, maxPerToken: MAX_TICKETS_PER_TOKEN };
    this.#codes = new OneTimeCodes({ ...bounds, plural: 'tickets' }, now);
  }

  /** @throws DroverError `too_many` or `unavailable` when a limit is reached and the token has its share. */
  create(token: string): { ticket: string; expires_at_ms: number } {
    const { code, expiresAt } = this.#codes.create(token, null);
    return { ticket: code, expires_at_ms: expiresAt };
  }

  /** The id of the ticket's token; null for an unknown, used or expired ticket. */
  redeem(ticket: string): string | null {
    return this.#codes.take(ticket)?.token ?? null;
  }
}
