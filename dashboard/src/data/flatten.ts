// The data of a bot as a list of fields: objects in it are taken apart, lists are values.

import type { Json } from '../../../src/client/index.js';
import { lookUp } from '../../../src/shared/query/bot-query.js';
import { numberText } from '../texts/text.js';

type JsonObject = Readonly<Record<string, Json>>;

export interface DataField {
  /** As a query has it behind `data.`: `at.map`. */
  path: string;
  value: Json;
}

/** The fields in the order of the data. A path that can be read in two ways is one field, with the value that a query finds. */
export function flatten(data: JsonObject): DataField[] {
  const paths = new Set<string>();
  collect(data, '', paths);
  return [...paths].map((path) => ({ path, value: lookUp(data, path) as Json }));
}

function collect(object: JsonObject, before: string, paths: Set<string>): void {
  for (const [name, value] of Object.entries(object)) {
    const path = `${before}${name}`;
    if (isObject(value) && Object.keys(value).length > 0) collect(value, `${path}.`, paths);
    else paths.add(path);
  }
}

function isObject(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Those whose name or value has the text, in any case. */
export function matching(fields: readonly DataField[], text: string): readonly DataField[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return fields;
  return fields.filter(
    ({ path, value }) =>
      path.toLowerCase().includes(wanted) || valueText(value).toLowerCase().includes(wanted),
  );
}

/** Decimals that are shown. */
const DECIMALS = 6;

/** A value in one line. */
export function valueText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return numberText(Number(value.toFixed(DECIMALS)));
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
