// What of a text is masked, for every spelling of a secret, and what a caller cannot find out by guessing.

import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SecretMask } from '../../../src/bot-host/secret-mask.js';

const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const hex = (text: string): string => Buffer.from(text).toString('hex');
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const SPELLINGS: Record<string, (secret: string) => string> = {
  'as it is': (secret) => secret,
  'in JSON': json,
  'in JSON in JSON': (secret) => json(json(secret)),
  'in JSON of other programs': (secret) =>
    json(secret)
      .replaceAll('/', '\\/')
      .replace(
        /[\u0080-\uffff]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`,
      ),
  'in a URL': encodeURIComponent,
  'in a URL, in lower case': (secret) =>
    encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
  'in a URL in a URL': (secret) => encodeURIComponent(encodeURIComponent(secret)),
  'in a path': encodeURI,
  'in a form': (secret) => new URLSearchParams({ a: secret }).toString().slice(2),
  'all of it percent-encoded': (secret) => hex(secret).replace(/../g, '%$&'),
  'in HTML': (secret) =>
    secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
  'in hexadecimal': hex,
  'in hexadecimal, in upper case': (secret) => hex(secret).toUpperCase(),
  'as bytes': (secret) => hex(secret).replace(/..(?=.)/g, '$&:'),
  'as a Buffer': (secret) => inspect(Buffer.from(secret)).slice(8, -1),
  'in base64': base64,
  'in base64 for URLs': (secret) => Buffer.from(secret).toString('base64url'),
  'in base64 in a form': (secret) => encodeURIComponent(base64(secret)),
};

const secrets = fc
  .string({ unit: 'grapheme', minLength: 6, maxLength: 40 })
  .filter((text) => text.isWellFormed() && Buffer.byteLength(text) >= 6);
/** Around a secret; such characters are no part of any spelling. */
const around = fc.stringMatching(/^[ <>|]{0,4}$/);

describe.each(Object.entries(SPELLINGS))('a secret %s', (_, spell) => {
  it('is masked, and nothing around it', () => {
    fc.assert(
      fc.property(secrets, around, around, (secret, before, after) => {
        fc.pre(!/[ <>|&]/.test(secret));
        // A Buffer shows 50 bytes.
        fc.pre(Buffer.byteLength(secret) <= 50);
        const mask = new SecretMask(['another-secret', secret]);
        expect(mask.text(`${before}${spell(secret)}${after}`)).toBe(`${before}***${after}`);
      }),
      // Each compiles an expression, which takes milliseconds.
      { numRuns: 10 },
    );
  });
});

it('a secret with the signs that are escaped is masked in every spelling', () => {
  const secret = `a b+c/d"e\\f\\\\g'h&i<j>k\n\t\x1bl?=é€😀.*[](){}^$|-_~!`;
  const mask = new SecretMask([secret]);
  for (const [name, spell] of Object.entries(SPELLINGS)) {
    if (name === 'as a Buffer') continue;
    expect([name, mask.text(`(${spell(secret)})`)]).toEqual([name, '(***)']);
  }
});

it('a secret in base64 is masked at any place in something longer', () => {
  fc.assert(
    fc.property(
      secrets,
      fc.string({ maxLength: 8 }),
      fc.string({ maxLength: 8 }),
      (secret, a, b) => {
        const mask = new SecretMask([secret]);
        for (const alphabet of ['base64', 'base64url'] as const) {
          const encoded = Buffer.from(`${a}${secret}${b}`).toString(alphabet);
          const shown = mask.text(encoded);
          expect(shown).toContain('***');
          // The pieces beside the mask have nothing of the secret, except where it meets its neighbours in one character.
          const [left = '', right = ''] = shown.split('***');
          expect(left.length).toBeLessThanOrEqual(Math.ceil((Buffer.byteLength(a) * 4) / 3));
          expect(right.replace(/=+$/, '').length).toBeLessThanOrEqual(
            Math.ceil((Buffer.byteLength(b) * 4) / 3),
          );
        }
      },
    ),
    { numRuns: 40 },
  );
});

it('a text without the secret stays as it is', () => {
  const mask = new SecretMask(['hunter2-of-anna', '0123']);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      fc.pre(!text.includes('0123'));
      expect(mask.text(text)).toBe(text);
    }),
    { numRuns: 30 },
  );
  expect(mask.text('hunter2-of-ann 012 HUNTER2-OF-ANNA')).toBe(
    'hunter2-of-ann 012 HUNTER2-OF-ANNA',
  );
});

it('the longest secret is masked as a whole, and short ones are not masked', () => {
  const mask = new SecretMask(['inner', 'the-inner-one', 'abc']);
  expect(mask.text('the-inner-one inner abc')).toBe('*** *** abc');
  expect(new SecretMask(['abc', '']).text('abc')).toBe('abc');
});

it('a very long secret is masked in the usual spellings', () => {
  const key = Array.from({ length: 1500 }, (_, at) => `line "${at}" of a key\n`).join('');
  const mask = new SecretMask([key]);
  for (const name of ['as it is', 'in JSON', 'in a URL', 'in hexadecimal', 'in base64']) {
    expect(mask.text(`<${(SPELLINGS[name] as (text: string) => string)(key)}>`)).toBe('<***>');
  }
});

it('takes no time for a text that is nearly the secret many times', () => {
  const mask = new SecretMask([`${'\\'.repeat(30)}x`, `${'"\\'.repeat(30)}x`, 'a'.repeat(200)]);
  for (const piece of ['\\', '"\\', '\\"', '\\\\"', 'a', '%25', '%']) {
    const text = piece.repeat(8192 / piece.length);
    expect(mask.text(text).length).toBeLessThanOrEqual(text.length);
  }
});

it('in JSON, names, numbers and strings are masked', () => {
  const mask = new SecretMask(['hunter2', '123456']);
  expect(
    mask.json({
      hunter2: 1,
      list: ['<hunter2>', 123456, 1234567, null, true],
      n: { 'a-123456': {} },
    }),
  ).toEqual({ '***': 1, list: ['<***>', '***', 1234567, null, true], n: { 'a-***': {} } });
});

describe('a caller that guesses', () => {
  const secret = 'hunter2-of-anna';
  const guesses = Array.from({ length: 200 }, (_, at) => `hunter${at}-of-anna`);
  const maskAfter = (...said: string[]): SecretMask => {
    const mask = new SecretMask([secret, 'short']);
    for (const text of said) mask.hear({ target: '#drover', text });
    return mask;
  };

  it.each([
    ['in a line', guesses.join(' '), (text: string) => `PRIVMSG #drover :${text}`],
    ['in a short line', `x ${secret}`, (text: string) => `PRIVMSG #drover :${text}`],
    ['in JSON', guesses.join('"'), (text: string) => JSON.stringify({ said: text })],
    ['in a URL', guesses.join(' '), (text: string) => `GET /say?text=${encodeURIComponent(text)}`],
    ['in a form', guesses.join('&'), (text: string) => `${new URLSearchParams({ text })}`],
  ])('does not see which one is right: %s', (_, text, show) => {
    const line = show(text);
    expect(maskAfter(text).text(line)).toBe(line);
    expect(maskAfter().text(line)).toContain('***');
  });

  it('does not see it either in pieces of what was said', () => {
    const mask = maskAfter(guesses.join(' '));
    for (let at = 0; at < guesses.length; at += 7) {
      const piece = `PRIVMSG #drover :${guesses.slice(at, at + 7).join(' ')}`;
      expect(mask.text(piece)).toBe(piece);
    }
  });

  it('does not see it in names and numbers either', () => {
    const mask = new SecretMask([secret, '987654']);
    const said = { [guesses.join(' ')]: [...guesses, 987653, 987654, 987655] };
    mask.hear(said);
    expect(mask.text(Object.keys(said)[0] as string)).toBe(Object.keys(said)[0]);
    expect(mask.text('PIN 987654')).toBe('PIN 987654');
  });

  it('gets the secret masked elsewhere as before', () => {
    const mask = maskAfter(guesses.join(' '), `a ${secret} b`);
    expect(mask.text(`PASS ${secret}`)).toBe('PASS ***');
    expect(mask.text(`it is ${secret}`)).toBe('it is ***');
    expect(mask.json({ password: secret })).toEqual({ password: '***' });
  });

  it('does not get the secret shown where the bot itself used it before', () => {
    const logsIn = 'PASS 482913';
    const mask = new SecretMask(['482913', secret]);
    for (const line of [logsIn, `IDENTIFY anna ${secret}`]) mask.text(line);
    mask.hear({ text: ['000000', '482913', '111111'] });
    mask.hear(`please IDENTIFY anna ${secret} and more`);
    expect(mask.text('PRIVMSG #drover :482913')).toBe('PRIVMSG #drover :482913');
    expect(mask.text(logsIn)).toBe('PASS ***');
    expect(mask.text(`IDENTIFY anna ${secret}`)).toBe('IDENTIFY anna ***');
  });

  it('does not get a long secret shown with signs around it', () => {
    for (const said of [`${secret}!`, ` ${secret}`, `"${secret}" ${secret}`]) {
      expect(maskAfter(said).text(`PASS ${secret}`)).toBe('PASS ***');
    }
  });

  it('gets one guess for each thing said, and only of a long secret', () => {
    expect(maskAfter(secret).text(`PRIVMSG #drover :${secret}`)).toBe('PRIVMSG #drover :***');
    expect(maskAfter('short').text('PRIVMSG #drover :short')).toBe('PRIVMSG #drover :short');
    expect(maskAfter().text('PRIVMSG #drover :short')).toBe('PRIVMSG #drover :***');
  });
});
