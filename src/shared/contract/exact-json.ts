// What JSON can say and not every part of the service can carry: a binary encoding renames the key `__proto__`, and UTF-8 has no
// lone surrogates. It is refused where it comes in, because it would come out as something else.

import type { Json } from './json.js';

/** A text with something of it has one of these, as JSON. */
const SUSPECT = /__proto__|\\u/;
/** Half of a character: with the flag u, a whole one is not among them. */
const LONE = /[\ud800-\udfff]/u;

/**
 * Where a value has what would be changed, in words, as in `data.a has half of a character (\ud800)`; undefined without it.
 * @param text the value as JSON, @param what its name.
 */
export function pathOfInexact(text: string, what: string, value?: unknown): string | undefined {
  return SUSPECT.test(text) ? pathIn((value ?? JSON.parse(text)) as Json, what) : undefined;
}

function pathIn(value: Json, path: string): string | undefined {
  if (typeof value === 'string') return halfOf(value, path);
  if (typeof value !== 'object' || value === null) return undefined;
  const isList = Array.isArray(value);
  for (const [name, one] of Object.entries(value)) {
    if (name === '__proto__') return `${path} has the key __proto__, which is not allowed`;
    const place =
      halfOf(name, `a key of ${path}`) ??
      pathIn(one, isList ? `${path}[${name}]` : `${path}.${name}`);
    if (place !== undefined) return place;
  }
  return undefined;
}

function halfOf(text: string, path: string): string | undefined {
  const [half] = LONE.exec(text) ?? [];
  return half && `${path} has half of a character (\\u${half.charCodeAt(0).toString(16)})`;
}
