// Run by vitest. What the access log shows of a request's path and query.

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { redactTarget } from '../../../src/front/http/redact-target.js';

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
  expect(redactTarget('/events', 'event=log&session=a,b&snapshot=0', PIN)).toBe(
    '/events?event=log&session=a,b&snapshot=0',
  );
});

it('hides tokens and tickets, in any spelling and under any name', () => {
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
        const shown = redactTarget('/events', `event=log&${name}=${written}&x=1`, PIN);
        expect(shown).toBe(`/events?event=log&${decodeURIComponent(name)}=***&x=1`);
        expect(redactTarget('/events', `${written}`, PIN)).not.toContain(written.slice(0, 30));
      },
    ),
  );
});

const WRAPPINGS: ((secret: string) => [string, string])[] = [
  (secret) => [`/events%3Ftoken=${secret}`, ''],
  (secret) => [`/events%253Ftoken%253D${hex(secret).replaceAll('%', '%25')}`, ''],
  (secret) => ['/x', `url=/events?token=${secret}`],
  (secret) => ['/x', `url=${encodeURIComponent(`/events?other=${encodeURIComponent(secret)}`)}`],
  (secret) => ['/x', `a=b;token=${secret}`],
  (secret) => ['/x', `a=b;other=${secret};c`],
  (secret) => ['/x', `q="${secret}"`],
  (secret) => ['/x', `q=%zz${secret}%`],
  (secret) => [`/x/${secret}/y`, ''],
  (secret) => [`/api/bots/${secret}/start`, ''],
  (secret) => [hex(hex(hex(hex(hex(hex(hex(secret))))))), ''],
];

it('hides tokens, tickets and the PIN inside other text', () => {
  fc.assert(
    fc.property(fc.oneof(tokens, tickets), fc.constantFrom(...WRAPPINGS), (secret, wrap) => {
      const shown = redactTarget(...wrap(secret), PIN);
      // Not in pieces either, as a path or a separator would cut it.
      for (const piece of secret.match(/.{8}/g) ?? []) expect(shown).not.toContain(piece);
    }),
  );
  for (const wrap of WRAPPINGS) {
    for (const written of [PIN, hex(PIN), hex(hex(PIN))]) {
      const shown = redactTarget(...wrap(written), PIN);
      expect(shown).not.toContain(PIN);
      expect(shown).not.toContain(written);
    }
  }
});

it('shows the id of a bot, however long the path around it', () => {
  const path = '/api/bots/a-bot-with-some-name-1/incidents';
  expect(redactTarget(path, 'limit=100', PIN)).toBe(`${path}?limit=100`);
});

it('hides short values of parameters that hold secrets, broken ones too', () => {
  for (const value of ['x', '%', '%zz', 'a=b', '']) {
    expect(redactTarget('/events', `token=${value}`, PIN)).toBe('/events?token=***');
  }
});

it('hides what looks like a token in the path', () => {
  const ticket = randomBytes(32).toString('base64url');
  expect(redactTarget(`/events/${ticket}`, '', PIN)).toBe('***');
});

it('hides the PIN wherever it stands', () => {
  expect(redactTarget(`/auth/pin/${PIN}`, `x=${PIN}&pin=111111`, PIN)).toBe(
    '/auth/pin/***?x=***&pin=***',
  );
});

it('gives one line of printable characters and bounded length for any input', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (path, query) => {
      expect(redactTarget(`/${path}`, query, PIN)).toMatch(/^[\x21-\x7e]{1,512}$/);
    }),
  );
  expect(redactTarget('/a\nb\x1b[31m', 'x=\r\n', PIN)).toBe('/a%0Ab%1B[31m?x=%0D%0A');
  expect(redactTarget(`/${'a'.repeat(20)}.`.repeat(100), '', PIN)).toHaveLength(512);
});
