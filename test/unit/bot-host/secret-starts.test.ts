// The quick search for secrets beside the expressions that say what their spellings are, and what a text costs that is made for them.

import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import { SecretPattern } from '../../../src/bot-host/secret-pattern.js';
import { expressionOf } from '../../../src/bot-host/secret-spellings.js';
import { SecretStarts } from '../../../src/bot-host/secret-starts.js';

afterEach(() => vi.restoreAllMocks());

const SIGNS = [
  ...'ab%\\u05cxn2/-_+&;"<\'= A9',
  ...['\n', '\x1b', '\x7f', '\u2028', 'é', '€', '😀', '\ud83d', '\ufffd'],
];
const secrets = fc.uniqueArray(
  fc.array(fc.constantFrom(...SIGNS), { minLength: 4, maxLength: 9 }).map((all) => all.join('')),
  { minLength: 1, maxLength: 4 },
);
const percent = (text: string): string => Buffer.from(text).toString('hex').replace(/../g, '%$&');
const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const unicode = (text: string): string =>
  text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
/** Of one character of a secret, or of all of it. */
const SPELLS: ((text: string) => string)[] = [
  (text) => text,
  json,
  (text) => json(json(text)),
  (text) => `\\${text}`,
  percent,
  (text) => percent(text).replaceAll('%', '%25'),
  unicode,
  (text) => text.replace(/[\s\S]/g, (unit) => `x${unit.charCodeAt(0).toString(16)}`),
  (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&#x3C;').replaceAll('"', '&quot;'),
  (text) => text.replaceAll(' ', '+').replaceAll('\n', '␊').replaceAll('\u2028', '⟨2028⟩'),
];
const WHOLE: ((text: string) => string)[] = [
  (text) => Buffer.from(text).toString('hex'),
  (text) =>
    Buffer.from(text)
      .toString('hex')
      .replace(/..(?=.)/g, '$& '),
  (text) => Buffer.from(text).toString('base64'),
  (text) => Buffer.from(`a${text}bc`).toString('base64url'),
  (text) => encodeURIComponent(Buffer.from(`ab${text}`).toString('base64')),
];

/** Secrets, and a text of pieces of them in many spellings, whole and in part. */
const cases = secrets.chain((known) => {
  const secret = fc.constantFrom(...known);
  const mixed = secret.chain((text) => {
    const parts = text.match(/[\s\S]/gu) ?? [];
    return fc
      .tuple(fc.array(fc.nat(), { minLength: parts.length, maxLength: parts.length }), fc.nat(9))
      .map(([spells, cut]) =>
        parts
          .map((part, at) =>
            (SPELLS[(spells[at] as number) % SPELLS.length] as (t: string) => string)(part),
          )
          .slice(cut > 6 ? cut - 6 : 0)
          .join(''),
      );
  });
  const whole = fc
    .tuple(secret, fc.constantFrom(...SPELLS, ...WHOLE))
    .map(([text, spell]) => spell(text));
  const junk = fc.array(fc.constantFrom(...SIGNS), { maxLength: 4 }).map((all) => all.join(''));
  const text = fc.array(fc.oneof(mixed, whole, junk), { maxLength: 6 }).map((all) => all.join(''));
  return fc.record({ known: fc.constant(known), text });
});
// The short form is always the same. `npm run long -- fuzz` runs many more, from another seed each time.
const runs = {
  numRuns: Math.ceil(Number(process.env['FUZZ_CASES'] ?? 4000) / 10),
  seed: Number(process.env['FUZZ_SEED'] ?? 1),
};

it('finds each place at which an expression matches, and no other', () => {
  let found = 0;
  fc.assert(
    fc.property(cases, ({ known, text }) => {
      const starts = new SecretStarts(known).in(text);
      for (const [number, secret] of known.entries()) {
        const regex = new RegExp(expressionOf(secret), 'y');
        const matches = placesOf(regex, text);
        const places = starts.get(number) ?? [];
        found += matches.length;
        expect(places).toEqual(expect.arrayContaining(matches));
        // Characters before base64 may belong to it.
        for (const place of places) {
          expect([place, place + 1, place + 3].some((at) => matches.includes(at))).toBe(true);
        }
      }
    }),
    runs,
  );
  expect(found).toBeGreaterThan(runs.numRuns);
});

function placesOf(regex: RegExp, text: string): number[] {
  return Array.from({ length: text.length }, (_, at) => at).filter((at) => {
    regex.lastIndex = at;
    return regex.test(text);
  });
}

it('replaces the same as the expressions, also where only some secrets are replaced', () => {
  const always = (): string => '***';
  fc.assert(
    fc.property(cases, fc.nat(3), ({ known, text }, kept) => {
      const sometimes = (secret: string, at: number): string => (at % 4 === kept ? secret : '***');
      for (const replacement of [always, sometimes]) {
        expect(new SecretPattern(known, 0).replace(text, replacement)).toBe(
          new SecretPattern(known, Number.POSITIVE_INFINITY).replace(text, replacement),
        );
      }
    }),
    runs,
  );
});

it('what is nearly a secret everywhere is read once, for all secrets together', () => {
  const near = (unit: string): string[] =>
    Array.from(
      { length: 60 },
      (_, at) => unit.repeat(200 / unit.length) + String.fromCharCode(0x4e00 + at),
    );
  for (const unit of ['a', 'u', '%', '"', '0', '\\n']) {
    const pattern = new SecretPattern(near(unit), 2 ** 20);
    for (const text of [unit, `\\\\\\${unit}`, percent(unit), json(unit)]) {
      const line = text.repeat(8192 / text.length);
      const exec = vi.spyOn(RegExp.prototype, 'exec');
      const replace = vi.spyOn(RegExp.prototype, Symbol.replace);
      expect(pattern.replace(line, () => '***') === line, unit).toBe(true);
      // No expression of a secret is tried: those of single characters have no dots and are short.
      const long = [...exec.mock.contexts, ...replace.mock.contexts].filter(
        (regex) => (regex as RegExp).source.length > 200,
      );
      expect(long).toEqual([]);
      vi.restoreAllMocks();
    }
  }
});
