// Runs in main. Owns the tickets for `GET /events?ticket=`. All fronts redeem them here, so a ticket works only once.

import { randomBytes } from 'node:crypto';
import { DroverError } from '../../shared/errors.js';
import { tokenDigest } from '../../shared/token-digest.js';

const TICKET_BYTES = 32;
/** How long a ticket is valid, in ms. */
export const TICKET_MS = 30_000;
/**
 * Valid tickets, in total and for one token. One more of a token is refused until an old one is used or expires. In total, one
 * more takes the place of the oldest of the token that has most, unless that is its own.
 */
const MAX_TICKETS = 10_000;
const MAX_TICKETS_PER_TOKEN = 1000;

interface Ticket {
  token: string;
  expiresAt: number;
}

export class TicketBook {
  /** By digest, in the order in which they expire. */
  readonly #tickets = new Map<string, Ticket>();
  readonly #perToken = new Map<string, number>();
  readonly #now: () => number;

  /** @param now Unix epoch milliseconds. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** @throws DroverError `too_many` or `unavailable` when a limit is reached and the token has its share. */
  create(token: string): { ticket: string; expires_at_ms: number } {
    this.#removeExpired();
    const held = this.#perToken.get(token) ?? 0;
    if (held >= MAX_TICKETS_PER_TOKEN) {
      throw new DroverError('too_many', 'too many tickets of this token wait to be used', 1);
    }
    if (this.#tickets.size >= MAX_TICKETS) this.#makeRoom(held);
    const ticket = randomBytes(TICKET_BYTES).toString('base64url');
    const expiresAt = this.#now() + TICKET_MS;
    this.#tickets.set(tokenDigest(ticket), { token, expiresAt });
    this.#perToken.set(token, held + 1);
    return { ticket, expires_at_ms: expiresAt };
  }

  /** The id of the ticket's token; null for an unknown, used or expired ticket. */
  redeem(ticket: string): string | null {
    this.#removeExpired();
    const digest = tokenDigest(ticket);
    const found = this.#tickets.get(digest);
    if (!found) return null;
    this.#remove(digest, found);
    return found.token;
  }

  /** @param held by the token that needs room. */
  #makeRoom(held: number): void {
    let [most, count] = ['', 0];
    for (const [token, tickets] of this.#perToken) {
      if (tickets > count) [most, count] = [token, tickets];
    }
    if (count <= held + 1) {
      throw new DroverError('unavailable', 'too many tickets wait to be used', 1);
    }
    for (const [digest, ticket] of this.#tickets) {
      if (ticket.token !== most) continue;
      this.#remove(digest, ticket);
      return;
    }
  }

  #removeExpired(): void {
    const now = this.#now();
    for (const [digest, ticket] of this.#tickets) {
      if (ticket.expiresAt > now) break;
      this.#remove(digest, ticket);
    }
  }

  #remove(digest: string, { token }: Ticket): void {
    this.#tickets.delete(digest);
    const held = (this.#perToken.get(token) ?? 0) - 1;
    if (held > 0) this.#perToken.set(token, held);
    else this.#perToken.delete(token);
  }
}
