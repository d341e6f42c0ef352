import type { Json, JsonObject } from '../../shared/contract/json.js';

/** JSON merge patch (RFC 7396): null removes a key. */
export function mergePatch(base: JsonObject, patch: JsonObject): JsonObject {
  // A Map, because assigning the key `__proto__` would set the prototype and hide it from validation.
  const merged = new Map(Object.entries(base));
  for (const [name, value] of Object.entries(patch)) {
    const below = merged.get(name);
    if (value === null) merged.delete(name);
    else if (isObject(value)) merged.set(name, mergePatch(isObject(below) ? below : {}, value));
    else merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
