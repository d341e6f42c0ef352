import type { Json, JsonObject } from './json.js';

/**
 * JSON merge patch (RFC 7396): null removes a key.
 * @param isWhole objects that are values as a whole: they replace, and are replaced, but not merged.
 */
export function mergePatch(
  base: JsonObject,
  patch: JsonObject,
  isWhole: (value: JsonObject) => boolean = () => false,
): JsonObject {
  // A Map, because assigning the key `__proto__` would set the prototype and hide it from validation.
  const merged = new Map(Object.entries(base));
  for (const [name, value] of Object.entries(patch)) {
    const below = merged.get(name);
    if (value === null) merged.delete(name);
    else if (isObject(value) && !isWhole(value)) {
      merged.set(name, mergePatch(isObject(below) && !isWhole(below) ? below : {}, value, isWhole));
    } else merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

/** What {@link mergePatch} makes of `after` the object before; a null of that is left out. */
export function undoOf(before: JsonObject, after: JsonObject): JsonObject {
  const undo = new Map<string, Json>();
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [from, to] = [before, after].map((one) =>
      Object.hasOwn(one, name) ? one[name] : undefined,
    );
    if (JSON.stringify(from) === JSON.stringify(to)) continue;
    const isInside = isObject(from) && isObject(to);
    undo.set(name, isInside ? undoOf(from, to) : (from ?? null));
  }
  return Object.fromEntries(undo);
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
