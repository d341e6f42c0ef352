// Runs in tabs. Owns the texts of the page in the chosen language, and how it writes numbers. language.ts chooses it.

import { signal } from '@preact/signals';
import { en } from './en.js';

export const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** Forms of a text for the number `n`, by the plural rules of the language. */
export interface Plural {
  readonly one: string;
  readonly other: string;
}

export type Key = keyof typeof en;
/** What the file of each language has: the same keys as English, with plural forms for the same ones. */
export type Texts = { readonly [K in Key]: (typeof en)[K] extends string ? string : Plural };

type NamesIn<S> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;
type FormOf<T> = T extends { readonly other: infer S } ? S : T;
/** The number of a text with plural forms is always given, so that a form can be chosen. */
type CountOf<K extends Key> = (typeof en)[K] extends string ? never : 'n';
type NamesOf<K extends Key> = NamesIn<FormOf<(typeof en)[K]>> | CountOf<K>;
type Values<K extends Key, V> = { readonly [N in Exclude<NamesOf<K>, CountOf<K>>]: V } & {
  readonly [N in CountOf<K>]: number;
};
/** The values of a text, as arguments. */
export type Given<K extends Key, V> = [NamesOf<K>] extends [never] ? [] : [values: Values<K, V>];
/** The keys of texts without placeholders: those that can be looked up from a table. */
export type PlainKey = { [K in Key]: [NamesOf<K>] extends [never] ? K : never }[Key];

interface InUse {
  language: Language;
  texts: Texts;
  rules: Intl.PluralRules;
  numbers: Intl.NumberFormat;
}

const inUse = signal<InUse>(build('en', en));

function build(language: Language, texts: Texts): InUse {
  return {
    language,
    texts,
    rules: new Intl.PluralRules(language),
    // All digits: how many there should be is for the caller to say.
    numbers: new Intl.NumberFormat(language, { maximumFractionDigits: 20 }),
  };
}

/** From now on the page is in this language: what has read a text is drawn again. */
export function useTexts(language: Language, texts: Texts): void {
  inUse.value = build(language, texts);
}

/** The first of these that there is, else English. @param wanted tags such as `de-AT`, the preferred one first. */
export function languageFor(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const [name = ''] = tag.toLowerCase().split('-');
    const found = LANGUAGES.find((one) => one === name);
    if (found) return found;
  }
  return 'en';
}

export function language(): Language {
  return inUse.value.language;
}

/** `1,234.5` or `1.234,5`. */
export function numberText(value: number): string {
  return inUse.value.numbers.format(value);
}

/** With this many decimals: `1.0` or `1,0`. */
export function fixedText(value: number, decimals: number): string {
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return value.toLocaleString(inUse.value.language, digits);
}

/** @param values the placeholders; numbers are written as the language does. */
export function t<K extends Key>(key: K, ...[values]: Given<K, string | number>): string {
  return piecesOf(key, values).join('');
}

/** A text with elements in place of some placeholders. */
export function rich<K extends Key>(key: K, ...[values]: Given<K, Child>): Child[] {
  return piecesOf<Child>(key, values);
}

/** What Preact takes as a child. Its own type would bring the types of a page into the tests of texts. */
type Child = object | string | number | null;

const PLACEHOLDER = /\{(\w+)\}/;

/** Texts and values in turn. */
function piecesOf<V>(key: Key, values: Readonly<Record<string, V>> | undefined): (V | string)[] {
  const { texts, rules } = inUse.value;
  const found = texts[key];
  const of = values ?? {};
  const text =
    typeof found === 'string'
      ? found
      : found[rules.select(Number(of['n'])) === 'one' ? 'one' : 'other'];
  return text.split(PLACEHOLDER).map((piece, at) => {
    if (at % 2 === 0) return piece;
    const value = of[piece];
    return typeof value === 'number' ? numberText(value) : (value as V);
  });
}
