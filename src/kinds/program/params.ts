// Runs in a bot host. Reads the params of what a program says, each with an error that says what is wrong.

import type { Json, JsonObject } from '../../shared/contract/json.js';
import { ERRORS, isObject, RequestError } from './json-rpc.js';

/** Bad params: -32602. */
export function badParams(message: string): RequestError {
  return new RequestError(ERRORS.badParams, message);
}

/** @throws RequestError */
export function text(params: JsonObject, key: string): string {
  const value = params[key];
  if (typeof value === 'string') return value;
  throw badParams(`${key} must be a string, not ${typeOf(value)}`);
}

/** @throws RequestError */
export function optionalText(params: JsonObject, key: string): string | undefined {
  return params[key] === undefined || params[key] === null ? undefined : text(params, key);
}

/** @throws RequestError */
export function oneOf<T extends string>(params: JsonObject, key: string, values: readonly T[]): T {
  const value = params[key];
  const found = values.find((one) => one === value);
  if (found !== undefined) return found;
  throw badParams(`${key} must be one of ${values.join(', ')}, not ${JSON.stringify(value)}`);
}

/** @throws RequestError */
export function object(params: JsonObject, key: string): JsonObject {
  const value = params[key];
  if (isObject(value)) return value;
  throw badParams(`${key} must be an object, not ${typeOf(value)}`);
}

function typeOf(value: Json | undefined): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value;
}
