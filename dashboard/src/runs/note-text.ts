// Runs in tabs. Turns the notes of a worker into text.

import { type Key, t } from '../texts/text.js';
import type { Said } from './note.js';

/** `note` has checked that the values are those of the key. */
const wordsOf = t as (key: Key, values?: Readonly<Record<string, string | number>>) => string;

export function noteText(said: Said): string {
  if (typeof said === 'string') return said;
  const values = Object.entries(said.values ?? {}).map(([name, value]) => [
    name,
    typeof value === 'number' ? value : noteText(value),
  ]);
  return wordsOf(said.key, Object.fromEntries(values));
}
