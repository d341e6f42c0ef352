// Pure. Makes the bots of a fleet file: defaults of the kind, then templates, then the entry itself.

import type { CreateBotBody } from '../contract/bots.js';
import { schemaFaults } from '../contract/explain.js';
import { type FleetFile, type FleetSettings, MAX_FLEET_BOTS } from '../contract/fleet.js';
import type { Json, JsonObject } from '../contract/json.js';
import { isObject, mergePatch } from '../contract/merge-patch.js';
import { messageOf } from '../errors.js';
import { validatorOf } from '../validators.js';
import type { Located, Path } from './located.js';
import { isReference, type ReferenceSource, resolveReference } from './references.js';

/** What a bot is made of: fields of the file, by name. */
type Layer = Record<string, Json>;

export interface ExpandedBot {
  bot: CreateBotBody;
  /** Where its entry is. */
  offset: number;
}

/** Templates that extend each other, one the next. */
const MAX_CHAIN = 32;
/** `{n}`, or `{n:3}` for at least three digits. */
const NUMBER = /\{n(?::([1-9]))?\}/g;

const hasNumber = (text: string): boolean => text.search(NUMBER) >= 0;

/** Faults are added to those of the file. */
export function expandFleet(
  { kinds = {}, templates = {}, bots }: FleetFile,
  located: Located,
  source: ReferenceSource,
): ExpandedBot[] {
  const { faults } = located;
  const fault = (path: Path, what: string, key?: string): void =>
    faults.add(located.offsetOf(path, key), what);

  /** By name, with all that they are based on; undefined for one with a fault, which is told once. */
  const layers = new Map<string, Layer | undefined>();
  const templateOf = (
    name: string,
    from: Path,
    chain: readonly string[] = [],
  ): Layer | undefined => {
    if (chain.includes(name)) {
      const circle = [...chain.slice(chain.indexOf(name)), name].join(' -> ');
      fault(from, `templates extend each other in a circle: ${circle}`);
      return undefined;
    }
    if (chain.length > MAX_CHAIN) {
      fault(from, `more than ${MAX_CHAIN} templates extend each other`);
      return undefined;
    }
    if (layers.has(name)) return layers.get(name);
    if (!Object.hasOwn(templates, name)) {
      const names = Object.keys(templates).join(', ') || 'none';
      fault(from, `no template ${JSON.stringify(name)}; there are: ${names}`);
      return undefined;
    }
    const { extends: base, ...own } = templates[name] as FleetSettings & { extends?: string };
    const path = ['templates', name, 'extends'];
    const below = base === undefined ? {} : templateOf(base, path, [...chain, name]);
    const layer = below && over(below, own as Layer);
    layers.set(name, layer);
    return layer;
  };
  // Also those that no bot uses.
  for (const name of Object.keys(templates)) templateOf(name, ['templates', name]);

  /** Undefined for a reference without a value: the next bot of the entry has the same fault. */
  const botOf = (layer: Layer, n: number | undefined): Layer | undefined => {
    const { config, ...rest } = layer;
    const bot = filled(rest, n) as Layer;
    try {
      if (config !== undefined) bot['config'] = filled(config, n, valueFor);
      return bot;
    } catch (thrown) {
      if (!(thrown instanceof ReferenceFault)) throw thrown;
      faults.add(thrown.offset, thrown.message);
      return undefined;
    }
  };
  const valueFor = (reference: JsonObject, given: JsonObject): Json => {
    try {
      return resolveReference(reference, source);
    } catch (thrown) {
      throw new ReferenceFault(messageOf(thrown), located.objectOffset(given));
    }
  };

  let total = 0;
  const expanded: ExpandedBot[] = [];
  const validate = validatorOf('CreateBotBody');
  for (const [at, entry] of bots.entries()) {
    if (faults.isFull) break;
    const path = ['bots', at];
    const { count, template, ...own } = entry;
    total += count ?? 1;
    if (total > MAX_FLEET_BOTS) {
      fault(path, `more than ${MAX_FLEET_BOTS} bots`);
      break;
    }
    if (count !== undefined && !hasNumber(own.id)) {
      fault([...path, 'id'], `the id of a bot with count must have {n}, such as ${own.id}-{n}`);
      continue;
    }
    if (count === undefined && hasNumber(own.id)) {
      fault([...path, 'id'], 'an id with {n} needs count');
      continue;
    }
    const base = template === undefined ? {} : templateOf(template, [...path, 'template']);
    if (!base) continue;
    const kind = own.kind ?? base['kind'];
    if (typeof kind !== 'string') {
      fault(path, 'the bot has no kind: give kind, or a template that has one');
      continue;
    }
    const ofKind = Object.hasOwn(kinds, kind) ? over({}, kinds[kind] as Layer) : {};
    const layer = over(over(ofKind, base), own as Layer);
    const offset = located.offsetOf(path);
    for (let n = 1; n <= (count ?? 1); n += 1) {
      const bot = botOf(layer, count === undefined ? undefined : n);
      if (!bot) break;
      if (!validate(bot)) {
        for (const { text, path: steps } of schemaFaults('', validate.errors).faults) {
          fault([...path, ...steps], `bot ${String(bot['id'])}: ${text.replace(/^\./, '')}`);
        }
        break;
      }
      expanded.push({ bot, offset });
    }
  }
  return expanded;
}

class ReferenceFault extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/**
 * A value with the number in its texts. @param n undefined: texts stay.
 * @param valueFor what a reference stands for; a path of a file may have the number.
 */
function filled(
  value: Json,
  n: number | undefined,
  valueFor?: (reference: JsonObject, given: JsonObject) => Json,
): Json {
  if (typeof value === 'string') {
    if (n === undefined) return value;
    return value.replace(NUMBER, (_, digits = '1') => String(n).padStart(Number(digits), '0'));
  }
  if (Array.isArray(value)) return value.map((one) => filled(one, n, valueFor));
  if (!isObject(value)) return value;
  const isNamed = valueFor !== undefined && isReference(value);
  const below = isNamed ? undefined : valueFor;
  const copy = Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, filled(one, n, below)]),
  );
  return isNamed ? valueFor(copy, value) : copy;
}

/**
 * A layer over another. `config` and `labels` are merged, `restart` and `quota` by field, where null is a value; others
 * replace. A null that has nothing to remove is a value, so that a configuration with one can be written.
 */
function over(base: Layer, layer: Layer): Layer {
  const merged: Layer = { ...base };
  for (const [key, value] of Object.entries(layer)) {
    const below = isObject(base[key]) ? base[key] : {};
    if (value === null) delete merged[key];
    else if (!isObject(value) || !Object.hasOwn(base, key)) merged[key] = value;
    else if (key === 'config' || key === 'labels')
      merged[key] = mergePatch(below, value, isReference);
    else merged[key] = key === 'node_labels' ? value : { ...below, ...value };
  }
  return merged;
}
