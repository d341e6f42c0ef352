// Runs in tabs and in the worker of a run. Looks up the texts of the page (en.ts) and writes numbers.

import { en } from './en.js';

const LOCALE = 'en';
const RULES = new Intl.PluralRules(LOCALE);
/** All digits: the caller says how many there should be. */
const NUMBERS = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 20 });

export type Key = keyof typeof en;

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

/** `1,234.5`. */
export function numberText(value: number): string {
  return NUMBERS.format(value);
}

/** With this many decimals: `1.0`. */
export function fixedText(value: number, decimals: number): string {
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return value.toLocaleString(LOCALE, digits);
}

/** @param values the placeholders; numbers get their separators. */
export function t<K extends Key>(key: K, ...[values]: Given<K, string | number>): string {
  return piecesOf(key, values).join('');
}

/** A text with elements for some placeholders. */
export function rich<K extends Key>(key: K, ...[values]: Given<K, Child>): Child[] {
  return piecesOf<Child>(key, values);
}

/** What Preact takes as a child. Its own type would bring the types of a page into the tests of texts. */
type Child = object | string | number | null;

const PLACEHOLDER = /\{(\w+)\}/;

/** Texts and values in turn. */
function piecesOf<V>(key: Key, values: Readonly<Record<string, V>> | undefined): (V | string)[] {
  const found = en[key];
  const of = values ?? {};
  const text =
    typeof found === 'string'
      ? found
      : found[RULES.select(Number(of['n'])) === 'one' ? 'one' : 'other'];
  return text.split(PLACEHOLDER).map((piece, at) => {
    if (at % 2 === 0) return piece;
    const value = of[piece];
    return typeof value === 'number' ? numberText(value) : (value as V);
  });
}
