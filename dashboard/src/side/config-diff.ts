// What differs between the configurations of two bots, field by field. Pure.

import type { Json, JsonObject } from '../../../src/client/index.js';

export interface DiffRow {
  /** `config.at.x`, `labels.team`. */
  path: string;
  /** As JSON; undefined where the bot does not have the field. */
  one: string | undefined;
  other: string | undefined;
  isSame: boolean;
}

/** Every field of either, in the order of the first, then of the second. Lists are compared whole. */
export function diffOf(one: JsonObject, other: JsonObject): DiffRow[] {
  const [ofOne, ofOther] = [new Map(fieldsOf(one, '')), new Map(fieldsOf(other, ''))];
  const paths = new Set([...ofOne.keys(), ...ofOther.keys()]);
  return [...paths]
    .map((path) => {
      const [a, b] = [ofOne.get(path), ofOther.get(path)];
      return { path, one: a, other: b, isSame: a === b };
    })
    .sort((a, b) => rootOf(a.path) - rootOf(b.path));

  /** Fields that only the second has are among those of the same part. */
  function rootOf(path: string): number {
    const [root = ''] = path.split('.');
    const roots = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    return roots.indexOf(root);
  }
}

function* fieldsOf(value: Json, path: string): Generator<[path: string, json: string]> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    yield [path, JSON.stringify(value)];
    return;
  }
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined) yield* fieldsOf(field, path === '' ? name : `${path}.${name}`);
  }
}
