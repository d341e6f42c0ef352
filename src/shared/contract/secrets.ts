// The secrets of a bot's configuration: its schema marks them as `writeOnly`, and values that do not decide where they go as
// `redirects: false`.

import { isDeepStrictEqual } from 'node:util';
import { type SchemaPattern, schemaPattern } from '../query/schema-pattern.js';
import type { Json, JsonObject } from './json.js';

/** Keywords whose schemas apply to the same value. A value that is secret in one of them is secret. */
const ALTERNATIVES = ['anyOf', 'oneOf', 'allOf', 'if', 'then', 'else'];

/** A copy of the configuration without its secrets. */
export function withoutSecrets(config: JsonObject, schema: JsonObject): JsonObject {
  return (visible(config, [schema], schema) ?? {}) as JsonObject;
}

/** Cached by schema. */
const marking = new WeakMap<JsonObject, boolean>();

/** Whether anything in the schema is marked as a secret. */
function marksSecrets(schema: JsonObject): boolean {
  let marks = marking.get(schema);
  if (marks === undefined) {
    marks = JSON.stringify(schema).includes('"writeOnly":true');
    marking.set(schema, marks);
  }
  return marks;
}

/** A value of a configuration that has no values below it. */
interface Leaf {
  path: readonly string[];
  value: Json;
  isSecret: boolean;
  /** Its schema says `redirects: false`: a change of it does not alter where a secret goes. */
  isHarmless: boolean;
}

/**
 * The secrets of a configuration, as text. Where an object and a field in it are marked, only the field counts: the string
 * beside a password may be a common name.
 */
export function secretStrings(config: JsonObject, schema: JsonObject): string[] {
  // Checked first, because this runs at each start of a bot and most kinds have no secrets.
  if (!marksSecrets(schema)) return [];
  return leavesOf(config, [schema], schema).flatMap(({ value, isSecret }) =>
    isSecret && (typeof value === 'string' || typeof value === 'number') ? [String(value)] : [],
  );
}

/** Where a configuration has secrets: paths with dots. @param config without defaults, which are no secrets. */
export function secretPaths(config: JsonObject, schema: JsonObject): string[] {
  if (!marksSecrets(schema)) return [];
  return leavesOf(config, [schema], schema)
    .filter(({ value, isSecret }) => isSecret && value !== null)
    .map(({ path }) => path.join('.'));
}

/** A copy of a configuration with other values in place of its secrets. @param path with dots. */
export function replaceSecrets(
  config: JsonObject,
  schema: JsonObject,
  replacement: (path: string) => Json,
): JsonObject {
  if (!marksSecrets(schema)) return config;
  const copy = structuredClone(config);
  for (const { path, value, isSecret } of leavesOf(config, [schema], schema)) {
    if (!isSecret || value === null || path.length === 0) continue;
    const holder = path
      .slice(0, -1)
      .reduce<Json>((at, name) => (at as JsonObject)[name] as Json, copy);
    (holder as JsonObject)[path.at(-1) as string] = replacement(path.join('.'));
  }
  return copy;
}

/** Where secrets were set, replaced or removed: paths with dots. */
export function changedSecrets(
  before: JsonObject,
  after: JsonObject,
  schema: JsonObject,
): string[] {
  if (!marksSecrets(schema)) return [];
  const [old, now] = [before, after].map(
    (config) =>
      new Map(
        leavesOf(config, [schema], schema)
          .filter(({ isSecret }) => isSecret)
          .map(({ path, value }) => [path.join('.'), value]),
      ),
  ) as [Map<string, Json>, Map<string, Json>];
  return [...new Set([...old.keys(), ...now.keys()])].filter(
    (path) => !isDeepStrictEqual(old.get(path), now.get(path)),
  );
}

/**
 * Whether a change may send secrets elsewhere: `secrets` stay although `change` does not give them, and `keys` have another
 * value. Paths with dots.
 * @param before the configuration with defaults filled in. @param after the same after the change. @param stored `after` without
 *   defaults, which are no secrets.
 */
export function redirectedSecrets(
  { before, after, stored, change }: Record<'before' | 'after' | 'stored' | 'change', JsonObject>,
  schema: JsonObject,
): { secrets: string[]; keys: string[] } {
  const secrets = leavesOf(stored, [schema], schema)
    .filter(({ path, value, isSecret }) => isSecret && value !== null && !isGiven(change, path))
    .map(({ path }) => path.join('.'));
  const [old, now] = [before, after].map(
    (config) =>
      new Map(leavesOf(config, [schema], schema).map((leaf) => [leaf.path.join('\0'), leaf])),
  ) as [Map<string, Leaf>, Map<string, Leaf>];
  const keys = [...new Map([...old, ...now]).entries()]
    .filter(([path, { isHarmless }]) => {
      const values = [old.get(path), now.get(path)].map((leaf) => leaf?.value);
      return !isHarmless && !isDeepStrictEqual(values[0], values[1]);
    })
    .map(([, { path }]) => path.join('.'));
  return { secrets, keys };
}

function isGiven(change: Json | undefined, path: readonly string[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return change !== undefined;
  if (typeof change !== 'object' || change === null || !Object.hasOwn(change, name)) return false;
  return isGiven((change as JsonObject)[name], rest);
}

function leavesOf(
  value: Json,
  schemas: Json[],
  root: JsonObject,
  path: readonly string[] = [],
  isHarmless = false,
): Leaf[] {
  const all = expand(schemas, root);
  const harmless = isHarmless || all.some((schema) => schema['redirects'] === false);
  const below = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const leaves =
    below.length === 0
      ? [{ path, value, isSecret: false, isHarmless: harmless }]
      : below.flatMap(([name, one]) => {
          const own = all.flatMap((schema) =>
            Array.isArray(value) ? ofItem(schema, Number(name)) : ofProperty(schema, name),
          );
          return leavesOf(one, own, root, [...path, name], harmless);
        });
  const isMarked = all.some((schema) => schema['writeOnly'] === true);
  if (!isMarked || leaves.some(({ isSecret }) => isSecret)) return leaves;
  return leaves.map((leaf) => ({ ...leaf, isSecret: true }));
}

/**
 * A change replaces lists as a whole, and its sender has not seen the secrets in them: an entry that equals the visible part
 * of an old entry keeps its secrets, at any index.
 * @param changed the configuration after the change. @param before the one before it. @param views its visible parts, with
 *   and without defaults.
 */
export function keepSecretsInLists(changed: Json, before: Json, views: readonly Json[]): Json {
  if (Array.isArray(changed) && Array.isArray(before)) {
    if (views.some((view) => isDeepStrictEqual(changed, view))) return before;
    // Entries that are secret as a whole are not shown, so the others could not be matched.
    const lists = views.filter((view) => Array.isArray(view) && view.length === before.length);
    // Found by their text: to compare each with each takes minutes for lists of thousands.
    const free = lists.map((list) => placesOf(list as Json[]));
    const taken = new Set<number>();
    return changed.map((entry) => {
      const text = canonical(entry);
      const matches = free.flatMap((places) => firstFree(places.get(text), taken) ?? []);
      if (matches.length === 0) return entry;
      const match = Math.min(...matches);
      taken.add(match);
      return before[match] as Json;
    });
  }
  if (!isObject(changed) || !isObject(before)) return changed;
  const entries = Object.entries(changed).map(([name, value]): [string, Json] => {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    if (old === undefined) return [name, value];
    const seen = views.flatMap((view) =>
      isObject(view) && Object.hasOwn(view, name) ? [view[name] as Json] : [],
    );
    return [name, keepSecretsInLists(value, old, seen)];
  });
  return Object.fromEntries(entries);
}

/** The places of each entry by its text, in reverse. */
function placesOf(list: readonly Json[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (let at = list.length - 1; at >= 0; at--) {
    const text = canonical(list[at] as Json);
    const known = places.get(text);
    if (known) known.push(at);
    else places.set(text, [at]);
  }
  return places;
}

/** Removes places that are taken from the end of the list. */
function firstFree(places: number[] | undefined, taken: ReadonlySet<number>): number | undefined {
  while (places && places.length > 0 && taken.has(places.at(-1) as number)) places.pop();
  return places?.at(-1);
}

/** A text that is the same for equal values. */
export function canonical(value: Json): string {
  return JSON.stringify(value, (_, one: Json) =>
    isObject(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}

/** The readable part of a value; undefined when nothing of it is. */
function visible(value: Json, schemas: Json[], root: JsonObject): Json | undefined {
  const all = expand(schemas, root);
  if (all.some((schema) => schema['writeOnly'] === true)) return undefined;
  if (Array.isArray(value)) {
    return value.flatMap((item, at) => {
      const shown = visible(
        item,
        all.flatMap((schema) => ofItem(schema, at)),
        root,
      );
      return shown === undefined ? [] : [shown];
    });
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).flatMap(([name, below]): [string, Json][] => {
    const shown = visible(
      below,
      all.flatMap((schema) => ofProperty(schema, name)),
      root,
    );
    return shown === undefined ? [] : [[name, shown]];
  });
  return Object.fromEntries(entries);
}

/** All schemas that may apply to a value, each once. */
function expand(schemas: Json[], root: JsonObject): JsonObject[] {
  const found = new Set<JsonObject>();
  const add = (schema: Json | undefined): void => {
    if (!isObject(schema) || found.has(schema)) return;
    found.add(schema);
    if (typeof schema['$ref'] === 'string') add(resolve(schema['$ref'], root));
    for (const keyword of ALTERNATIVES) for (const one of [schema[keyword]].flat()) add(one);
    for (const keyword of ['dependentSchemas', 'dependencies']) {
      if (isObject(schema[keyword])) Object.values(schema[keyword]).forEach(add);
    }
  };
  schemas.forEach(add);
  return [...found];
}

/** The target of a `$ref` within the same schema: a pointer, or a name of `$defs`. */
function resolve(ref: string, root: JsonObject): Json | undefined {
  let at: Json | undefined = root;
  const steps = ref.startsWith('#/') ? ref.slice(2).split('/') : ref === '#' ? [] : ['$defs', ref];
  for (const step of steps) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    at = isObject(at) || Array.isArray(at) ? (at as JsonObject)[name] : undefined;
  }
  return at;
}

function ofItem(schema: JsonObject, at: number): Json[] {
  const { prefixItems, items, additionalItems, unevaluatedItems, contains } = schema;
  const tuple = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : [];
  const rest = Array.isArray(items) ? additionalItems : items;
  const own = at < tuple.length ? tuple[at] : rest;
  return [own, unevaluatedItems, contains].filter((one) => one !== undefined);
}

function ofProperty(schema: JsonObject, name: string): Json[] {
  const { properties, patternProperties, additionalProperties, unevaluatedProperties } = schema;
  const own = isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [];
  const byPattern = isObject(patternProperties)
    ? patternsOf(patternProperties).flatMap(([pattern, one]) => (pattern.test(name) ? [one] : []))
    : [];
  const known = [...own, ...byPattern];
  const found = known.length > 0 ? known : [additionalProperties];
  return [...found, unevaluatedProperties].filter((one) => one !== undefined);
}

/** Cached by `patternProperties`, because making an expression takes longer than using it. */
const patterns = new WeakMap<JsonObject, [SchemaPattern, Json][]>();

function patternsOf(patternProperties: JsonObject): [SchemaPattern, Json][] {
  let known = patterns.get(patternProperties);
  if (!known) {
    known = Object.entries(patternProperties).map(([source, one]) => [schemaPattern(source), one]);
    patterns.set(patternProperties, known);
  }
  return known;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
