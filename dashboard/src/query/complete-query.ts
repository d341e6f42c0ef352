// The completions at the cursor of a query: fields, then their current values.

import {
  FIELD_NAMES,
  FIELDS,
  type Field,
  type FieldName,
  fieldNamed,
  isUsable,
  type QueryUse,
} from '../../../src/shared/query/fields.js';
import { printValue } from '../../../src/shared/query/print-query.js';
import { t } from '../texts/text.js';

/** The current values of a field; the field `''` means names of data. */
export type Offers = (field: FieldName, path: string) => readonly string[];

export interface Completion {
  /** What is shown, and what it says about it. */
  label: string;
  hint: string;
  /** Replaces the word. */
  insert: string;
}

export interface Completions {
  /** The part of the text that is replaced. */
  from: number;
  to: number;
  items: readonly Completion[];
}

/** All fields that begin a query for lines, up to those of lines that people use most, are offered. */
const MAX_ITEMS = 16;
/** Letters of a value from which on it is offered without its field. */
const MIN_LETTERS = 2;
/** Fields whose values are offered like this. */
const BY_VALUE: readonly FieldName[] = ['status', 'kind', 'label', 'level', 'scope', 'bot'];
/** Of the journal and the log, only lines are shown. */
const HIDDEN: readonly FieldName[] = ['event'];

export function complete(text: string, cursor: number, use: QueryUse, offers: Offers): Completions {
  const from = wordStart(text, cursor);
  const to = wordEnd(text, cursor);
  const word = text.slice(from, cursor);
  if (word.startsWith('"') || word.startsWith('/')) return { from, to, items: [] };
  const [, name = '', operator = '', rest = ''] =
    /^([\p{L}_][\p{L}\p{N}_.-]*)(:|<=|>=|<|>|=)(.*)$/su.exec(word) ?? [];
  if (operator !== '') {
    const isData = name.startsWith('data.');
    const field = isData ? 'data' : fieldNamed(name);
    if (!field || !isUsable(field, use)) return { from, to, items: [] };
    const typed = rest.slice(rest.lastIndexOf(',') + 1);
    const values = offers(field, isData ? name.slice('data.'.length) : '');
    const found = ranked(values, typed.replaceAll('"', ''));
    const items = found.map((value) => ({ label: value, hint: '', insert: printed(field, value) }));
    return { from: cursor - typed.length, to, items };
  }
  return {
    from,
    to,
    items: [...fieldsFor(word, use, offers), ...valuesFor(word, use, offers)].slice(0, MAX_ITEMS),
  };
}

function fieldsFor(word: string, use: QueryUse, offers: Offers): Completion[] {
  const wanted = word.toLowerCase();
  if (wanted.startsWith('data.')) {
    const names = ranked(offers('data', ''), word.slice('data.'.length));
    return names.map((name) => ({ label: `data.${name}`, hint: '', insert: `data.${name}` }));
  }
  return FIELD_NAMES.filter((name) => {
    const { aliases = [] }: Field = FIELDS[name];
    const isNamed = [name, ...aliases].some((one) => one.startsWith(wanted));
    return isNamed && isUsable(name, use) && !HIDDEN.includes(name);
  }).map((name) => {
    const { type }: Field = FIELDS[name];
    const behind = type === 'data' ? '.' : type === 'age' ? '>' : ':';
    return { label: name + behind, hint: t(`field.${name}`), insert: name + behind };
  });
}

function valuesFor(word: string, use: QueryUse, offers: Offers): Completion[] {
  if (word.length < MIN_LETTERS) return [];
  return BY_VALUE.filter((field) => isUsable(field, use)).flatMap((field) =>
    ranked(offers(field, ''), word)
      .slice(0, 4)
      .map((value) => {
        const term = `${field}:${printed(field, value)}`;
        return { label: term, hint: '', insert: term };
      }),
  );
}

function printed(field: FieldName, value: string): string {
  const at = field === 'label' ? value.indexOf('=') : -1;
  return at < 0
    ? printValue([value])
    : `${value.slice(0, at)}=${printValue([value.slice(at + 1)])}`;
}

/** Those that begin with it first, then those that contain it. */
function ranked(values: readonly string[], typed: string): string[] {
  const wanted = typed.toLowerCase();
  const found = values.filter((value) => value.toLowerCase().includes(wanted));
  const first = found.filter((value) => value.toLowerCase().startsWith(wanted));
  const rest = found.filter((value) => !value.toLowerCase().startsWith(wanted));
  return [...first, ...rest].slice(0, MAX_ITEMS);
}

/** Where the word at the cursor begins, without its sign. Spaces in quotes do not end it. */
function wordStart(text: string, cursor: number): number {
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < cursor; at++) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && /\s/.test(text[at] as string)) start = at + 1;
  }
  return text[start] === '-' && start < cursor ? start + 1 : start;
}

/** The rest of the word is replaced too: up to the next space or comma. */
function wordEnd(text: string, cursor: number): number {
  let end = cursor;
  while (end < text.length && !/[\s,]/.test(text[end] as string)) end += 1;
  return end;
}
