// How a secret may be spelled in a text.

import { visible } from '../shared/contract/escapes.js';

/** A percent sign, also one that is percent-encoded itself. */
const PERCENT = '%(?:25)?';
/** A backslash. */
const BACKSLASH = `(?:\\\\|${PERCENT}5[cC]|\\\\u005[cC])`;
/** Most backslashes that escape a character: as in JSON in JSON. */
export const MAX_ESCAPES = 3;
/** Separators between bytes in hexadecimal. */
const BETWEEN_BYTES = '[ :]?';

export const SHORT_ESCAPES: Record<string, string> = {
  '\b': 'b',
  '\f': 'f',
  '\n': 'n',
  '\r': 'r',
  '\t': 't',
};
export const ENTITIES: Record<string, string> = {
  '&': '(?:amp|#38|#x26)',
  '<': '(?:lt|#60|#x3[cC])',
  '>': '(?:gt|#62|#x3[eE])',
  '"': '(?:quot|#34|#x22)',
  "'": '(?:apos|#39|#x27)',
};

/** How many bytes of a group of three may precede a secret in base64, as in `user:password`. */
export const OFFSETS = [0, 1, 2] as const;

/** The usual spellings, of a secret that is too long for {@link expressionOf}. */
export function literalsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    // encodeURIComponent throws on half a surrogate pair.
    encodeURIComponent(secret.toWellFormed()),
    ...(['hex', 'base64', 'base64url'] as const).map((encoding) => bytes.toString(encoding)),
  ];
}

/**
 * The source of a regular expression without groups: the secret as it is, escaped as in JSON, URLs, forms and HTML, in
 * hexadecimal, and in base64, also as a part of something longer.
 */
export function expressionOf(secret: string): string {
  const bytes = Buffer.from(secret);
  const text = partsOf(secret).map(escaped).join('');
  return [text, ...OFFSETS.map((offset) => base64(bytes, offset)), hexBytes(bytes)].join('|');
}

/**
 * A character with the backslashes before it, its own and those that escape it: one could not tell them apart, and an expression
 * that tries takes exponential time.
 */
export function partsOf(secret: string): string[] {
  return secret.match(/\\*[^\\]|\\+/gsu) ?? [];
}

function escaped(text: string): string {
  const last = text.replace(/^\\+/, '');
  const count = text.length - last.length;
  const most = count * (MAX_ESCAPES + 1) + (last ? MAX_ESCAPES : 0);
  const own = count === 0 ? `\\\\{0,${MAX_ESCAPES}}` : `${BACKSLASH}{${count},${most}}`;
  return last ? own + character(last) : own;
}

/** A character as it is, or as it is written after a backslash. */
function character(text: string): string {
  const code = text.codePointAt(0) ?? 0;
  const utf8 = [...Buffer.from(text)].map((byte) => PERCENT + hexOf(byte, 2)).join('');
  const utf16 = text.split('').map((unit) => `u${hexOf(unit.charCodeAt(0), 4)}`);
  const forms = [
    // First, because a percent sign could be the character itself.
    ...(code < 0x80
      ? [`(?:${PERCENT}|u00|x)${hexOf(code, 2)}`]
      : [utf8, utf16.join(`\\\\{1,${MAX_ESCAPES}}`)]),
    literal(text),
    ...(SHORT_ESCAPES[text] ? [SHORT_ESCAPES[text]] : []),
    ...(ENTITIES[text] ? [`&${ENTITIES[text]};`] : []),
    ...(text === ' ' ? ['\\+'] : []),
    // The symbol that is shown instead of it.
    ...(visible(text) === text ? [] : [visible(text)]),
  ];
  return `(?:${forms.join('|')})`;
}

/** The characters of base64 that have bits of the secret alone. @param offset of {@link OFFSETS}. */
export function base64Core(bytes: Buffer, offset: number): string {
  const end = Math.floor(((offset + bytes.length) * 8) / 6);
  return base64After(bytes, offset).slice(Math.ceil((offset * 8) / 6), end);
}

function base64After(secret: Buffer, offset: number, before = 0): string {
  return Buffer.concat([Buffer.alloc(offset, before), secret]).toString('base64url');
}

function base64(bytes: Buffer, offset: number): string {
  const first = Math.ceil((offset * 8) / 6);
  const core = [...base64Core(bytes, offset)].map(base64Character).join('');
  // Characters that have some bits of the secret. What precedes it decides about at most four bits of them.
  const start = bytes.subarray(0, 1);
  const left = new Set(
    Array.from(
      { length: offset === 0 ? 0 : 16 },
      (_, bits) => base64After(start, offset, bits)[first - 1] ?? '',
    ),
  );
  const partial = left.size === 0 ? '' : `(?:${[...left].map(base64Character).join('|')})?`;
  const isWhole = ((offset + bytes.length) * 8) % 6 === 0;
  return `${partial}${core}${isWhole ? '' : '[\\w+/-]?'}(?:=|%3[dD]){0,2}`;
}

/** In both alphabets, also percent-encoded. */
function base64Character(one: string): string {
  if (one === '-') return '(?:[+-]|%2[bB])';
  return one === '_' ? '(?:[/_]|%2[fF])' : one;
}

function hexBytes(bytes: Buffer): string {
  return [...bytes].map((byte) => hexOf(byte, 2)).join(BETWEEN_BYTES);
}

/** In both cases. */
function hexOf(value: number, digits: number): string {
  const text = value.toString(16).padStart(digits, '0');
  return text.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
