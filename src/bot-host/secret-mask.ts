// Runs in a bot host thread. Owns the secrets of one run of a bot, and what callers have said that contains one.

import type { Json } from '../shared/contract/json.js';
import { SecretPattern } from './secret-pattern.js';

const MASK = '***';
/** Shorter secrets would hide half of every line. */
const MIN_LENGTH = 4;
/** Least length of a secret that is masked even if a caller has said just that: it is too long to be guessed. */
const MIN_SAID_LENGTH = 12;
/** Places of secrets in what callers said that are kept; the oldest is forgotten. */
const MAX_SAID = 64;
/** Places in which the bot shows a secret by itself that are known; later ones are not learned. */
const MAX_OWN = 64;
/** Letters and digits that a text must share with what was said, beside the secret, to be an echo of it. */
const ECHO_LENGTH = 6;
/** Units beside a secret that are compared. */
const BESIDE_UNITS = 64;

/** Letters and digits before and after a secret in a text. */
interface Beside {
  before: string;
  after: string;
}

/**
 * Masks the secrets in everything that a bot publishes. What a caller makes the bot say is not masked where it is more than
 * the secret: among a hundred guesses the mask would show which one is right.
 */
export class SecretMask {
  /** Finds the secrets; undefined without secrets. */
  readonly #any: SecretPattern | undefined;
  readonly #long: SecretPattern | undefined;
  #said: Beside[] = [];
  /** Where the bot showed a secret that nobody had said, as when it logs in: masked there, regardless of what callers say later. */
  readonly #own = new Set<string>();

  constructor(secrets: readonly string[]) {
    const known = secrets.filter(({ length }) => length >= MIN_LENGTH);
    if (known.length === 0) return;
    this.#any = new SecretPattern(known);
    this.#long = new SecretPattern(known.filter(({ length }) => length >= MIN_SAID_LENGTH));
  }

  text(text: string): string {
    if (!this.#any) return text;
    return this.#any.replace(text, (secret, at, whole) => {
      const place = beside(whole, at, secret.length);
      const name = `${place.before}\0${place.after}`;
      if (this.#own.has(name)) return MASK;
      if (this.#isEcho(place)) return secret;
      if (this.#own.size < MAX_OWN) this.#own.add(name);
      return MASK;
    });
  }

  /** Also masks keys, and numbers that are a secret. */
  json(value: Json): Json {
    if (!this.#any) return value;
    if (typeof value === 'string') return this.text(value);
    if (typeof value === 'number') return this.text(String(value)) === MASK ? MASK : value;
    if (Array.isArray(value)) return value.map((entry) => this.json(entry));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([name, one]) => [this.text(name), this.json(one)]);
    return Object.fromEntries(entries);
  }

  /** Masks secrets in JSON text. */
  jsonText(text: string): string {
    return this.#any ? JSON.stringify(this.json(JSON.parse(text) as Json)) : text;
  }

  /** A caller gives the bot these arguments of a command. */
  hear(args: Json): void {
    if (!this.#any) return;
    if (typeof args === 'object' && args !== null) {
      for (const [name, one] of Object.entries(args)) {
        this.#hearText(name);
        this.hear(one);
      }
    } else {
      this.#hearText(String(args));
    }
  }

  #hearText(text: string): void {
    // Punctuation around the secret does not make the text more than the secret.
    const rest = this.#long?.replace(text, () => MASK) ?? text;
    if (rest !== text && plain(rest) === '') return;
    this.#any?.replace(text, (secret, at, whole) => {
      this.#said.push(beside(whole, at, secret.length));
      return secret;
    });
    this.#said = this.#said.slice(-MAX_SAID);
  }

  /**
   * Whether the secret has the same words beside it as in something that was said: a part of long ones, otherwise all.
   */
  #isEcho({ before, after }: Beside): boolean {
    return this.#said.some((said) => {
      const [left, right] = [sharedEnd(before, said.before), sharedStart(after, said.after)];
      if (left >= ECHO_LENGTH || right >= ECHO_LENGTH) return true;
      return left === said.before.length && right === said.after.length;
    });
  }
}

function beside(text: string, at: number, length: number): Beside {
  const end = at + length;
  return {
    before: plain(text.slice(Math.max(0, at - BESIDE_UNITS), at)),
    after: plain(text.slice(end, end + BESIDE_UNITS)),
  };
}

/** The letters and digits of a text, without characters that are escaped or encoded in some places. */
function plain(text: string): string {
  return text.replace(/%[0-9a-f]{2}|\\+(?:u[0-9a-f]{4}|.)|[^\p{L}\p{N}]/giu, '');
}

function sharedEnd(one: string, other: string): number {
  let count = 0;
  while (count < one.length && one.at(-1 - count) === other.at(-1 - count)) count += 1;
  return count;
}

function sharedStart(one: string, other: string): number {
  let count = 0;
  while (count < one.length && one[count] === other[count]) count += 1;
  return count;
}
