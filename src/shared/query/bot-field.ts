// The fields of a bot by which bots are sorted, and whose past is read: those of the query language.

import type { BotSnapshot } from '../contract/events.js';
import { lookUp, type QueriedBot } from './bot-query.js';
import { FIELDS, type FieldName, fieldNamed, isPath } from './fields.js';

/** Longest text that is compared, and that is shown of a value, in UTF-16 units. */
export const MAX_VALUE_UNITS = 200;
/** Fields that have a name behind a dot. */
export const NAMED: ReadonlySet<string> = new Set(['data', 'label']);

/** What a field of one bot has, in a form that can be compared and shown; null when the bot has no such field. */
export type FieldValue = number | string | boolean | null;

export interface BotField {
  /** The field as it is written: `restarts`, `data.gold`, `label.team`. */
  name: string;
  of(bot: QueriedBot): FieldValue;
}

/** @returns undefined when there is no such field. */
export function botField(text: string): BotField | undefined {
  const dot = text.indexOf('.');
  if (dot < 0) {
    const name = fieldNamed(text);
    if (name === undefined || NAMED.has(name) || FIELDS[name].of === 'line') return undefined;
    return { name, of: plain(name) };
  }
  const path = text.slice(dot + 1);
  if (path === '' || !isPath(path)) return undefined;
  const name = text;
  if (text.startsWith('data.')) return { name, of: ({ data }) => fieldValue(lookUp(data, path)) };
  if (!text.startsWith('label.')) return undefined;
  return { name, of: ({ labels }) => (Object.hasOwn(labels, path) ? (labels[path] ?? '') : null) };
}

function plain(name: FieldName): BotField['of'] {
  if (name === 'bot') return ({ id }) => id;
  // As in queries, the value is the age of the status: a later time is lower.
  if (name === 'since') return ({ since_ms }) => -since_ms;
  return (bot) => fieldValue((bot as BotSnapshot)[name as 'kind']);
}

/** A value of a bot's data. Lists and objects are their JSON. */
export function fieldValue(value: unknown): FieldValue {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.slice(0, MAX_VALUE_UNITS);
}

type CompareTexts = (one: string, other: string) => number;
const byUnits: CompareTexts = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

/**
 * The order of values: numbers, then texts, then what is missing, which stays last when the order is reversed.
 * @param sign 1 for ascending, -1 for descending.
 */
export function compareValues(
  one: FieldValue,
  other: FieldValue,
  sign: 1 | -1,
  texts: CompareTexts = byUnits,
): number {
  if (one === null || other === null) {
    return one === other ? 0 : one === null ? 1 : -1;
  }
  if (typeof one === 'number' && typeof other === 'number') return sign * (one - other);
  if (typeof one === 'number') return -sign;
  if (typeof other === 'number') return sign;
  return sign * texts(String(one), String(other));
}
