// Secrets that a fleet file names and does not contain.

import type { Json, JsonObject } from '../contract/json.js';

/** Where values come from. Each returns undefined if there is none. */
export interface ReferenceSource {
  variable(name: string): string | undefined;
  /** @param path as the file has it. */
  file(path: string): string | undefined;
}

const KEYS = ['$env', '$file', '$secret'] as const;

/** Whether an object stands for a value. */
export function isReference(object: JsonObject): boolean {
  return KEYS.some((key) => Object.hasOwn(object, key));
}

/** @throws Error with the reason when there is no value. */
export function resolveReference(object: JsonObject, source: ReferenceSource): Json {
  const [key = '', ...others] = Object.keys(object);
  const name = object[key];
  if (others.length > 0) throw new Error(`an object with ${key} has no other key`);
  if (typeof name !== 'string' || name === '') throw new Error(`${key} must be a text`);
  if (key === '$secret') {
    throw new Error('$secret is not available in this version: use $env or $file');
  }
  const value = key === '$env' ? source.variable(name) : source.file(name);
  if (value !== undefined) return value;
  throw new Error(
    key === '$env'
      ? `the variable ${name} is not set`
      : `the file ${name} cannot be read, or is not a text of at most 64 KiB`,
  );
}
