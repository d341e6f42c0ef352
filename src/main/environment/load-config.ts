import { readFileSync } from 'node:fs';
import { checkPassed } from '../../shared/bot-environment.js';
import { validateConfig } from '../../shared/config-validator.js';
import { Config, DEFAULTS } from '../../shared/contract/config.js';
import { explainSchemaError } from '../../shared/contract/explain.js';
import { FIXED } from '../../shared/contract/fixed.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { Networks } from '../../shared/contract/networks.js';
import { quotaFault } from '../../shared/contract/quota.js';
import type { TSchema } from '../../shared/contract/typebox.js';
import { messageOf, StartupError } from '../../shared/errors.js';
import { NetworkRules } from '../../shared/network-rules.js';

const ENV_PREFIX = 'DROVER_';
/** Variables of the command line (src/cli) and of programs (src/kinds/program). They are no keys, and may be set where a service starts. */
const OTHER_VARIABLES: ReadonlySet<string> = new Set([
  'DROVER_URL',
  'DROVER_TOKEN',
  'DROVER_PROFILE',
  'DROVER_BOT_ID',
  'DROVER_KIND',
  'DROVER_START',
]);

/** One source of values. `source` names it in error messages. */
interface Layer {
  source: string;
  values: JsonObject;
}

/** Values from the command line; keys are dotted paths such as `http.port`. */
export type Flags = Record<string, Json>;

/**
 * Reads and validates the configuration: defaults, file, environment, flags; a later source overrides an earlier one.
 * @throws StartupError naming the source, the key and what is wrong with it.
 */
export function loadConfig(file: string | undefined, env: NodeJS.ProcessEnv, flags: Flags): Config {
  const layers: Layer[] = [
    { source: 'the defaults', values: structuredClone(DEFAULTS) as JsonObject },
    ...(file === undefined ? [] : [readLayer(file, file)]),
    envLayer(env),
    { source: 'command line', values: nest(flags) },
  ];
  let merged: JsonObject = {};
  for (const { source, values } of layers) {
    const { $schema: _, ...rest } = values;
    merged = merge(merged, rest);
    // After each layer, so that the error names the source of the fault.
    if (!validateConfig(merged)) {
      const fault = explainSchemaError('', validateConfig.errors);
      throw new StartupError(`${source}: ${fault}; docs/CONFIGURATION.md lists all keys`);
    }
  }
  const config = merge(FIXED, merged) as unknown as Config;
  // An IPv6 address as it is written in URLs.
  config.http.host = config.http.host.replace(/^\[(.+)\]$/, '$1');
  expectBuilds('http.trusted_proxies', () => new Networks(config.http.trusted_proxies));
  const fault = quotaFault(config.quota);
  if (fault !== null) throw new StartupError(`${fault}; docs/CONFIGURATION.md lists all keys`);
  expectBuilds('hosts.env', () => checkPassed(config.hosts.env));
  expectBuilds('network.allow', () => new NetworkRules(config.network.allow));
  return config;
}

/** Checks values that no schema can check with the parsers that will read them. @throws StartupError */
function expectBuilds(key: string, build: () => unknown): void {
  try {
    build();
  } catch (thrown) {
    throw new StartupError(`${key}: ${messageOf(thrown)}; docs/CONFIGURATION.md lists all keys`);
  }
}

function readLayer(file: string | URL, source: string): Layer {
  let text: string;
  try {
    // Windows editors write a byte order mark, which JSON does not allow.
    text = readFileSync(file, 'utf8').replace(/^\ufeff/, '');
  } catch (thrown) {
    throw new StartupError(`the configuration ${source} cannot be read: ${messageOf(thrown)}`);
  }
  let values: unknown;
  try {
    values = JSON.parse(text, refusePrototype);
  } catch (thrown) {
    throw new StartupError(`${source} is not valid JSON: ${messageOf(thrown)}`);
  }
  if (!isObject(values)) throw new StartupError(`${source} must hold a JSON object`);
  return { source, values };
}

/** JSON.parse creates `__proto__` as an ordinary key, but copying it would set the prototype and bypass validation. */
function refusePrototype(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new Error('the key __proto__ is not allowed');
  return value;
}

function envLayer(env: NodeJS.ProcessEnv): Layer {
  const keys = envNames();
  const flags: Flags = {};
  const used: string[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith(ENV_PREFIX) || OTHER_VARIABLES.has(name) || text === undefined) continue;
    const key = keys.get(name);
    if (!key)
      throw new StartupError(
        `unknown environment variable ${name}; docs/CONFIGURATION.md lists them`,
      );
    flags[key.path] = key.text ? text : parseValue(text);
    used.push(name);
  }
  return { source: `environment (${used.join(', ')})`, values: nest(flags) };
}

/** The environment variable of every key: `DROVER_` and its path in upper case, joined by `_`. */
export function envNames(): Map<string, { path: string; text: boolean }> {
  const names = new Map<string, { path: string; text: boolean }>();
  for (const { path, schema } of configKeys()) {
    const name = ENV_PREFIX + path.replaceAll('.', '_').toUpperCase();
    names.set(name, { path, text: allowsText(schema) });
  }
  return names;
}

/** Every key that holds a value, with its schema, in the order of the schema. */
export function configKeys(): { path: string; schema: TSchema }[] {
  const keys: { path: string; schema: TSchema }[] = [];
  const walk = (schema: TSchema, path: string): void => {
    const properties = (schema as { properties?: Record<string, TSchema> }).properties;
    if (!properties) keys.push({ path, schema });
    else {
      for (const [name, inner] of Object.entries(properties)) {
        walk(inner, path === '' ? name : `${path}.${name}`);
      }
    }
  };
  walk(Config, '');
  return keys;
}

function allowsText(schema: TSchema): boolean {
  const { type, anyOf } = schema as { type?: string; anyOf?: { type?: string }[] };
  return type === 'string' || (anyOf?.some((option) => option.type === 'string') ?? false);
}

/** Parses JSON. Other text stays text, for the validator to refuse. */
function parseValue(text: string): Json {
  try {
    return JSON.parse(text, refusePrototype) as Json;
  } catch {
    return text;
  }
}

function nest(flags: Flags): JsonObject {
  const values: JsonObject = {};
  for (const [path, value] of Object.entries(flags)) {
    const names = path.split('.');
    const last = names.pop() as string;
    let inner = values;
    for (const name of names) {
      const below = inner[name];
      const next = isObject(below) ? below : {};
      inner[name] = next;
      inner = next;
    }
    inner[last] = value;
  }
  return values;
}

function merge(base: JsonObject, over: JsonObject): JsonObject {
  const merged = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const below = merged[name];
    merged[name] = isObject(below) && isObject(value) ? merge(below, value) : value;
  }
  return merged;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
