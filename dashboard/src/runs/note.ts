// A message of the worker of a run for the user: the key and the values of a text. The tab words it (note-text.ts), so that the
// worker needs no texts.

import type { Given, Key } from '../texts/text.js';

/** Text of another program, or a note. */
export type Said = string | Note;

export interface Note {
  key: Key;
  values: Readonly<Record<string, Said | number>> | undefined;
}

export function note<K extends Key>(key: K, ...[values]: Given<K, Said | number>): Note {
  return { key, values };
}

export class NoteError extends Error {
  readonly said: Said;

  constructor(said: Said) {
    super(typeof said === 'string' ? said : said.key);
    this.said = said;
  }
}

/** What an error says. Those of the browser and of the service have a text. */
export function saidBy(thrown: unknown): Said {
  return thrown instanceof NoteError ? thrown.said : (thrown as Error).message;
}
