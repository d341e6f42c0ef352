// Forms that TypeBox writes longer than JSON Schema needs them.

import type { Json, JsonObject } from './json.js';
import Type, { type Static, type TSchema, type TUnsafe } from './typebox.js';

interface Notes {
  description?: string;
  examples?: unknown[];
}

/** One of these strings. */
export function oneOf<T extends string>(values: readonly T[], notes: Notes = {}): TUnsafe<T> {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], ...notes });
}

/** The schema's values, or null. */
export function nullable<S extends TSchema>(
  schema: S,
  description: string,
): TUnsafe<Static<S> | null> {
  return Type.Unsafe<Static<S> | null>({ anyOf: [schema, { type: 'null' }], description });
}

/** Unix epoch milliseconds. */
export function time(description: string) {
  return Type.Integer({ description: `${description} Unix epoch milliseconds.` });
}

/** An object whose fields a bot defines. */
export function freeObject(description: string): TUnsafe<JsonObject> {
  return Type.Unsafe<JsonObject>({ type: 'object', description });
}

/** Any JSON value. */
export function anyJson(description: string): TUnsafe<Json> {
  return Type.Unsafe<Json>({ description });
}

/** An object with any field names. */
export function named<S extends TSchema>(
  values: S,
  description: string,
): TUnsafe<Record<string, Static<S>>> {
  return Type.Unsafe<Record<string, Static<S>>>({
    type: 'object',
    additionalProperties: values,
    description,
  });
}
