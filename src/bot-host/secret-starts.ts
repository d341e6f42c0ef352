// Finds where secrets start in a text, in time that does not depend on how nearly they are there: an expression for each secret takes
// that of its length at each character, which is seconds for a text that somebody has made for it.
//
// A spelling of a secret is a sequence of keys: characters, bytes in hexadecimal, characters of base64. The text is read from its
// end. For each place, a set of bits says from which keys on the rest of their sequence follows there: a key that can be read at a place
// adds its bits, where the bits behind them are set for the place at which it ends. The bit of a sequence's first key says that it starts.

import { EACH_INVISIBLE, symbolOf, visible } from '../shared/contract/escapes.js';
import {
  base64Core,
  ENTITIES,
  MAX_ESCAPES,
  OFFSETS,
  partsOf,
  SHORT_ESCAPES,
} from './secret-spellings.js';

/** A key that can be read at a place, and where it ends. */
interface Read {
  key: string;
  end: number;
}

/** Where a key is in the sequences: bits of a word. */
interface Bits {
  word: number;
  bits: number;
}

/** Backslashes in a secret, and the character behind them. */
interface Run {
  key: string;
  count: number;
  /** Most backslashes that a text may have for these, with those that escape them. */
  most: number;
}

/** A backslash in a text, as itself or encoded. */
interface Backslash {
  /** Number of consecutive backslashes from here on. */
  all: number;
  /** So many lead to `end`, the next place at which something may be read behind them. */
  tokens: number;
  end: number;
  /** Its first character is a backslash by itself too. */
  isSix: boolean;
}

/** Places whose sets are kept: the longest key that is read exactly, and one more. Behind a longer one anything may follow. */
const KEPT = 64;
/** The character that UTF-8 has for half a surrogate pair. */
const REPLACEMENT = '\ufffd';
const HEX_BYTE = /[0-9a-f]{2}/iy;
const UTF16_UNIT = /u([0-9a-f]{4})/iy;
const ESCAPES_BETWEEN_UNITS = new RegExp(`\\\\{1,${MAX_ESCAPES}}(?=u)`, 'y');
const SYMBOL = /⟨([0-9a-f]{1,4})⟩/y;
const BASE64 = /[\w-]/;

/** Characters by what stands for one of them, with the letters and signs that it begins with. */
const ENTITY_READS = Object.entries(ENTITIES).map(
  ([key, source]) => [key, new RegExp(`&${source};`, 'y')] as const,
);
const SHORT_READS = new Map(Object.entries(SHORT_ESCAPES).map(([key, letter]) => [letter, key]));

export class SecretStarts {
  readonly #bits = new Map<string, Bits[]>();
  /** For each sequence: its first bit, its secret, and how many characters before it may belong to it. */
  readonly #sequences: { word: number; bit: number; secret: number; isBase64: boolean }[] = [];
  #size = 0;
  readonly #ends: Int32Array;
  /** Runs of backslashes in secrets, by the character behind them: '' at the end of a secret. */
  readonly #runs = new Map<string, Run[]>();
  #mostTokens = 0;
  /** The keys behind a run in some secret, by the place in the text at which they are read. */
  readonly #behindRuns = new Map<number, Read[]>();
  #backslashes: (Backslash | undefined)[] = [];
  /** Halves of surrogate pairs in secrets. */
  readonly #halves = new Set<string>();

  /** @param secrets of which expressions can be made. */
  constructor(secrets: readonly string[]) {
    const ends: number[] = [];
    for (const [secret, text] of secrets.entries()) {
      const bytes = Buffer.from(text);
      const add = (keys: readonly string[], isBase64 = false): void => {
        const [word, bit] = [this.#size >>> 5, 1 << (this.#size & 31)];
        this.#sequences.push({ word, bit, secret, isBase64 });
        for (const key of keys) this.#add(key);
        ends.push(this.#size);
        this.#size += 1;
      };
      add(partsOf(text).map((part) => this.#keyOf(part)));
      add([...bytes].map((byte) => `hex ${byte}`));
      for (const offset of OFFSETS) {
        add(
          [...base64Core(bytes, offset)].map((one) => `base64 ${one}`),
          true,
        );
      }
    }
    this.#ends = new Int32Array((this.#size >>> 5) + 2);
    for (const end of ends)
      this.#ends[end >>> 5] = (this.#ends[end >>> 5] as number) | (1 << (end & 31));
  }

  /**
   * The places where each secret may start, ascending; undefined where it does not occur. Of base64 also the characters
   * before it.
   */
  in(text: string): Map<number, number[]> {
    const words = this.#ends.length;
    const sets = Array.from({ length: KEPT }, () => new Int32Array(words));
    const anything = new Int32Array(words).fill(-1);
    const starts = new Map<number, Set<number>>();
    this.#behindRuns.clear();
    this.#backslashes = [];
    const decoded: Read[][] = [];
    const after = (end: number, at: number): Int32Array =>
      end - at < KEPT ? (sets[end % KEPT] as Int32Array) : anything;
    (sets[text.length % KEPT] as Int32Array).set(this.#ends);
    for (let at = text.length - 1; at >= 0; at--) {
      const reads = [...this.#charsAt(text, at)];
      decoded[at] = reads;
      if (reads.some(({ key }) => this.#runs.has(key))) {
        this.#behindRuns.set(
          at,
          reads.filter(({ key }) => this.#runs.has(key)),
        );
      }
      if (this.#runs.size > 0) this.#noteBackslash(text, at);
      const set = sets[at % KEPT] as Int32Array;
      set.set(this.#ends);
      let isAny = false;
      for (const { key, end } of this.#readAt(text, at, decoded)) {
        const places = this.#bits.get(key);
        if (!places) continue;
        isAny = true;
        const behind = after(end, at);
        for (const { word, bits } of places) {
          const shifted = ((behind[word] as number) >>> 1) | ((behind[word + 1] as number) << 31);
          set[word] = (set[word] as number) | (shifted & bits);
        }
      }
      if (!isAny) continue;
      for (const { word, bit, secret, isBase64 } of this.#sequences) {
        if (((set[word] as number) & bit) === 0) continue;
        const found = starts.get(secret) ?? new Set();
        starts.set(secret, found);
        for (const before of isBase64 ? [0, 1, 3] : [0]) if (at >= before) found.add(at - before);
      }
    }
    return new Map(
      [...starts].map(([secret, found]) => [secret, [...found].sort((a, b) => a - b)]),
    );
  }

  #add(key: string): void {
    const [word, bit] = [this.#size >>> 5, 1 << (this.#size & 31)];
    const places = this.#bits.get(key) ?? [];
    this.#bits.set(key, places);
    const last = places.at(-1);
    if (last?.word === word) last.bits |= bit;
    else places.push({ word, bits: bit });
    this.#size += 1;
  }

  /** The key of a character, with the backslashes before it. */
  #keyOf(part: string): string {
    const last = part.replace(/^\\+/, '');
    if (!last.isWellFormed()) this.#halves.add(last);
    const count = part.length - last.length;
    if (count === 0) return part;
    const key = `run ${part}`;
    const most = count * (MAX_ESCAPES + 1) + (last === '' ? 0 : MAX_ESCAPES);
    const runs = this.#runs.get(last) ?? [];
    this.#runs.set(last, runs);
    if (runs.every((run) => run.count !== count)) runs.push({ key, count, most });
    this.#mostTokens = Math.max(this.#mostTokens, most);
    return key;
  }

  *#readAt(text: string, at: number, decoded: readonly Read[][]): Generator<Read> {
    let own = 0;
    while (text[at + own] === '\\' && own <= MAX_ESCAPES) own += 1;
    if (own <= MAX_ESCAPES) yield* decoded[at + own] ?? [];
    if (this.#runs.size > 0) yield* this.#runsAt(at);
    const byte = hexAt(text, at);
    if (byte !== undefined) {
      const key = `hex ${byte}`;
      yield { key, end: at + 2 };
      if (text[at + 2] === ' ' || text[at + 2] === ':') yield { key, end: at + 3 };
    }
    const one = text[at] as string;
    const sign = one === '%' ? signOf(hexAt(text, at + 1)) : one;
    const end = at + (one === '%' ? 3 : 1);
    if (sign === '+') yield { key: 'base64 -', end };
    else if (sign === '/') yield { key: 'base64 _', end };
    else if (one !== '%' && BASE64.test(one)) yield { key: `base64 ${one}`, end };
  }

  /** A run of backslashes, each as itself or encoded, with those that escape them, and what is behind it. */
  *#runsAt(at: number): Generator<Read> {
    const all = this.#backslashes[at]?.all ?? 0;
    // Nothing follows, so it does not matter where it ends.
    for (const { key, count } of this.#runs.get('') ?? [])
      if (count <= all) yield { key, end: at + 1 };
    let tokens = 0;
    for (let from = at, run = this.#backslashes[at]; run; run = this.#backslashes[from]) {
      if (run.isSix) yield* this.#behind(from + 1, tokens + 1);
      tokens += run.tokens;
      if (tokens > this.#mostTokens) return;
      from = run.end;
      yield* this.#behind(from, tokens);
    }
  }

  *#behind(stop: number, tokens: number): Generator<Read> {
    for (const { key: last, end } of this.#behindRuns.get(stop) ?? []) {
      for (const { key, count, most } of this.#runs.get(last) ?? []) {
        if (tokens >= count && tokens <= most) yield { key, end };
      }
    }
  }

  /** Notes the backslash at a place, as itself or encoded, and where it leads without a stop of interest. */
  #noteBackslash(text: string, at: number): void {
    const length = tokenAt(text, at);
    if (length === 0) return;
    const end = at + length;
    const next = this.#backslashes[end];
    const isPassed = next && !next.isSix && !this.#behindRuns.has(end);
    this.#backslashes[at] = {
      all: 1 + (next?.all ?? 0),
      tokens: 1 + (isPassed ? next.tokens : 0),
      end: isPassed ? next.end : end,
      isSix: length === 6,
    };
  }

  /** Characters that can be read at a place, without backslashes before them. */
  *#charsAt(text: string, at: number): Generator<Read> {
    const unit = text[at] as string;
    yield { key: unit, end: at + 1 };
    const char = String.fromCodePoint(text.codePointAt(at) as number);
    if (char.length > 1) yield { key: char, end: at + 2 };
    const short = SHORT_READS.get(unit);
    if (short !== undefined) yield { key: short, end: at + 1 };
    switch (unit) {
      case '%':
        yield* this.#percentAt(text, at);
        break;
      case 'x': {
        const code = hexAt(text, at + 1);
        if (code !== undefined && code < 0x80)
          yield { key: String.fromCharCode(code), end: at + 3 };
        break;
      }
      case 'u':
        yield* utf16At(text, at);
        break;
      case '&':
        for (const [key, entity] of ENTITY_READS) {
          const end = endOf(entity, text, at);
          if (end !== undefined) yield { key, end };
        }
        break;
      case '+':
        yield { key: ' ', end: at + 1 };
        break;
      default:
        yield* symbolAt(text, at);
    }
  }

  *#percentAt(text: string, at: number): Generator<Read> {
    for (const { byte, end } of percentBytes(text, at)) {
      if (byte < 0x80) yield { key: String.fromCharCode(byte), end };
      const more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc2 ? 1 : 0;
      if (more === 0) continue;
      let sequences = [{ bytes: [byte], end }];
      for (let count = 0; count < more; count++) {
        sequences = sequences.flatMap((sequence) =>
          percentBytes(text, sequence.end).map((next) => ({
            bytes: [...sequence.bytes, next.byte],
            end: next.end,
          })),
        );
      }
      for (const sequence of sequences) {
        const key = Buffer.from(sequence.bytes).toString();
        if (key === REPLACEMENT)
          for (const half of this.#halves) yield { key: half, end: sequence.end };
        yield { key, end: sequence.end };
      }
    }
  }
}

/** A percent-encoded byte; also one whose percent sign is encoded. */
function percentBytes(text: string, at: number): { byte: number; end: number }[] {
  if (text[at] !== '%') return [];
  return (text.startsWith('25', at + 1) ? [at + 1, at + 3] : [at + 1]).flatMap((from) => {
    const byte = hexAt(text, from);
    return byte === undefined ? [] : [{ byte, end: from + 2 }];
  });
}

/** Units of UTF-16 as they are after a backslash. */
function* utf16At(text: string, at: number): Generator<Read> {
  const unit = unitAt(text, at);
  if (unit === undefined) return;
  const end = at + 5;
  yield { key: unit, end };
  const second = endOf(ESCAPES_BETWEEN_UNITS, text, end);
  const low = second === undefined ? undefined : unitAt(text, second);
  if (second !== undefined && low !== undefined) yield { key: unit + low, end: second + 5 };
}

function unitAt(text: string, at: number): string | undefined {
  UTF16_UNIT.lastIndex = at;
  const [found, code] = UTF16_UNIT.exec(text) ?? [];
  return found?.startsWith('u')
    ? String.fromCharCode(Number.parseInt(code as string, 16))
    : undefined;
}

/** The symbol that is shown instead of a character that is not visible. */
function* symbolAt(text: string, at: number): Generator<Read> {
  const key = SYMBOLS.get(text[at] as string);
  if (key !== undefined) yield { key, end: at + 1 };
  if (text[at] !== '⟨') return;
  SYMBOL.lastIndex = at;
  const [found, code] = SYMBOL.exec(text) ?? [];
  const shown = String.fromCharCode(Number.parseInt(code ?? '0', 16));
  if (found && visible(shown) === found) yield { key: shown, end: at + found.length };
}

/** Characters by their symbols of one character. */
const SYMBOLS = new Map(
  Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code))
    .filter((char) => char.match(EACH_INVISIBLE))
    .map((char) => [symbolOf(char), char]),
);

/** The length of a backslash, as itself or encoded: 0 where there is none. The longest, where the first character is one too. */
function tokenAt(text: string, at: number): number {
  if (text[at] === '\\') {
    if (text[at + 1] !== 'u') return 1;
    return text.startsWith('u005', at + 1) && isC(text[at + 5]) ? 6 : 1;
  }
  if (text[at] !== '%') return 0;
  const length = text[at + 1] === '2' && text[at + 2] === '5' ? 5 : 3;
  return text[at + length - 2] === '5' && isC(text[at + length - 1]) ? length : 0;
}

function isC(unit: string | undefined): boolean {
  return unit === 'c' || unit === 'C';
}

function signOf(code: number | undefined): string {
  return code === 0x2b ? '+' : code === 0x2f ? '/' : '';
}

function hexAt(text: string, at: number): number | undefined {
  const end = endOf(HEX_BYTE, text, at);
  return end === undefined ? undefined : Number.parseInt(text.slice(at, end), 16);
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
