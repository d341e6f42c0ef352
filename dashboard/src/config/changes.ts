// What differs between two configurations, field by field.

import type { Json, JsonObject } from '../../../src/client/index.js';
import { isObject, NotJson, type Schema } from '../parts/schema.js';
import { t } from '../texts/text.js';

export interface ChangedField {
  /** `config.at.x`; the title of the form shows it without the first part. */
  path: string;
  /** As text; null for a value that is not there. */
  was: string | null;
  is: string | null;
}

/** @param secrets those that are set: their values are not known, and new ones are not shown. */
export function changedFields(
  path: string,
  before: JsonObject,
  after: JsonObject,
  schema: Schema = {},
  secrets: ReadonlySet<string> = new Set(),
): ChangedField[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const [was, is] = [before[name], after[name]];
    if (isSame(was, is)) return [];
    const at = path === '' ? name : `${path}.${name}`;
    const field = schema.properties?.[name] ?? {};
    if (field.writeOnly) {
      const had = secrets.has(at.replace(/^config\./, ''));
      return [
        { path: at, was: had ? t('value.set') : null, is: is === null ? null : t('value.new') },
      ];
    }
    const isGroup = [was, is].every((value) => value === undefined || isObject(value));
    if (isGroup) {
      return changedFields(
        at,
        (was as JsonObject | undefined) ?? {},
        (is as JsonObject | undefined) ?? {},
        field,
        secrets,
      );
    }
    return [{ path: at, was: textOf(was), is: textOf(is) }];
  });
}

/** Null is a value of a change: it removes the field. */
function textOf(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (value instanceof NotJson) return value.text;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Whether they are the same JSON value, with their keys in any order. */
export function isSame(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((one, at) => isSame(one, b[at]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const [names, others] = [Object.keys(a), Object.keys(b)];
  return names.length === others.length && names.every((name) => isSame(a[name], b[name]));
}
