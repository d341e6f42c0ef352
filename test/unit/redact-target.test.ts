// Run by vitest. What the access log shows of a request's path and query.

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { redactTarget } from '../../src/front/redact-target.js';

const PIN = '493817';
const tokens = fc
  .uint8Array({ minLength: 48, maxLength: 48 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));
const tickets = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('base64url'));
const hex = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

it('shows paths and other parameters as they were sent', () => {
  expect(redactTarget('/api/bots/demo-1', '', PIN)).toBe('/api/bots/demo-1');
  expect(redactTarget('/events', 'kind=log&session=a,b&snapshot=0', PIN)).toBe(
    '/events?kind=log&session=a,b&snapshot=0',
  );
});

it('hides tokens and tickets, however they are written and under whatever name', () => {
  fc.assert(
    fc.property(
      fc.oneof(tokens, tickets),
      fc.constantFrom(
        'token',
        'Token',
        'ticket',
        hex('token'),
        'tok%65n',
        'other',
        'last_event_id',
      ),
      fc.constantFrom(
        (text: string) => text,
        encodeURIComponent,
        hex,
        (text: string) => text.replaceAll('+', '%20'),
      ),
      (secret, name, write) => {
        const written = write(secret);
        const shown = redactTarget('/events', `kind=log&${name}=${written}&x=1`, PIN);
        expect(shown).toBe(`/events?kind=log&${name}=***&x=1`);
        expect(redactTarget('/events', `${written}`, PIN)).not.toContain(written.slice(0, 30));
      },
    ),
  );
});

it('hides short values of parameters that hold secrets, broken ones too', () => {
  for (const value of ['x', '%', '%zz', 'a=b', '']) {
    expect(redactTarget('/events', `token=${value}`, PIN)).toBe('/events?token=***');
  }
});

it('hides what looks like a token in the path', () => {
  const ticket = randomBytes(32).toString('base64url');
  expect(redactTarget(`/events/${ticket}`, '', PIN)).toBe('/events/***');
});

it('hides the PIN wherever it stands', () => {
  expect(redactTarget(`/auth/pin/${PIN}`, `x=${PIN}&pin=111111`, PIN)).toBe(
    '/auth/pin/***?x=***&pin=***',
  );
});

it('gives one line of printable characters and bounded length, whatever is sent', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (path, query) => {
      expect(redactTarget(`/${path}`, query, PIN)).toMatch(/^[\x21-\x7e]{1,512}$/);
    }),
  );
  expect(redactTarget('/a\nb\x1b[31m', 'x=\r\n', PIN)).toBe('/a%0Ab%1B[31m?x=%0D%0A');
  expect(redactTarget(`/${'a'.repeat(20)}/`.repeat(100), '', PIN)).toHaveLength(512);
});
