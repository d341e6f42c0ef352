// Tickets: single use, 30 s, limited in number.

import { expect, it } from 'vitest';
import { TicketBook } from '../../../src/main/access/tickets.js';
import { DroverError } from '../../../src/shared/errors.js';

function codeOf(attempt: () => unknown): string {
  try {
    attempt();
  } catch (thrown) {
    if (thrown instanceof DroverError) return thrown.code;
    throw thrown;
  }
  return 'made';
}

it('is valid once, for its token', () => {
  const book = new TicketBook();
  const [one, other] = [book.create('a').ticket, book.create('b').ticket];
  expect(one).not.toBe(other);
  expect(book.redeem(other)).toBe('b');
  expect(book.redeem(other)).toBeNull();
  expect(book.redeem(one)).toBe('a');
  for (const wrong of ['', 'x', `${one}=`, one.slice(1)]) expect(book.redeem(wrong)).toBeNull();
});

it('is valid for 30 s', () => {
  let now = 1_000_000;
  const book = new TicketBook(() => now);
  const { ticket, expires_at_ms } = book.create('a');
  const late = book.create('a').ticket;
  expect(expires_at_ms).toBe(1_030_000);
  now = 1_029_999;
  expect(book.redeem(ticket)).toBe('a');
  now = 1_030_000;
  expect(book.redeem(late)).toBeNull();
});

it('is refused at the limit of a token; at that of all tokens each gets its share', () => {
  let now = 0;
  const book = new TicketBook(() => now);
  const fill = (token: string): number => {
    let made = 0;
    while (codeOf(() => book.create(token)) === 'made') made += 1;
    return made;
  };
  expect(fill('a')).toBe(1000);
  expect(codeOf(() => book.create('a'))).toBe('too_many');
  let all = 1000;
  for (let n = 0; n < 9; n++) all += fill(`token ${n}`);
  expect(all).toBe(10_000);
  // Ten tokens have 1,000 each. Another gets as many as they, and not more; what they have beyond their share is dropped.
  expect(fill('new')).toBe(909);
  expect(codeOf(() => book.create('new'))).toBe('unavailable');
  expect(codeOf(() => book.create('a'))).toBe('unavailable');
  const { ticket: own } = book.create('another');
  expect(book.redeem(own)).toBe('another');
  // They expire at the same time, and there is room again.
  now = 30_000;
  expect(fill('a')).toBe(1000);
  const { ticket } = book.create('b');
  expect(book.redeem(ticket)).toBe('b');
});
