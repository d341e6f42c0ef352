import type { Json, JsonObject } from '../../../src/client/index.js';
import { t } from '../texts/text.js';

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: Json;
  enum?: Json[];
  const?: Json;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  patternProperties?: Record<string, Schema>;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  writeOnly?: boolean;
}

export type Field =
  | { type: 'text'; isSecret: boolean; isLong: boolean }
  | { type: 'number'; isWhole: boolean }
  | { type: 'switch' }
  | { type: 'choice'; options: Json[] }
  /** One per line. */
  | { type: 'lines' }
  | { type: 'group' }
  /** Items of any other kind, each with its fields. */
  | { type: 'list'; of: Schema }
  /** Names that the user chooses, each with a value of the same kind. */
  | { type: 'record'; of: Schema }
  /** Any other schema. */
  | { type: 'json' };

/** The value of a JSON field while its text is invalid. It prevents the form from being submitted. */
export class NotJson {
  [name: string]: Json;
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A string that can be longer than this gets a textarea. */
const LONG_TEXT = 400;

export function fieldFor(schema: Schema): Field {
  const options = optionsOf(schema);
  if (options) return { type: 'choice', options };
  switch (schema.type) {
    case 'string':
      return {
        type: 'text',
        isSecret: schema.writeOnly ?? false,
        isLong: (schema.maxLength ?? 0) > LONG_TEXT,
      };
    case 'integer':
      return { type: 'number', isWhole: true };
    case 'number':
      return { type: 'number', isWhole: false };
    case 'boolean':
      return { type: 'switch' };
    case 'object':
      return schema.properties ? { type: 'group' } : recordOf(schema);
    case 'array':
      if (schema.items?.type === undefined && !schema.items?.anyOf) return { type: 'json' };
      return schema.items.type === 'string' && !optionsOf(schema.items)
        ? { type: 'lines' }
        : { type: 'list', of: schema.items };
    default:
      return { type: 'json' };
  }
}

function recordOf({ additionalProperties, patternProperties = {} }: Schema): Field {
  const [pattern] = Object.values(patternProperties);
  const of = pattern ?? additionalProperties;
  return typeof of === 'object' && fieldFor(of).type !== 'json'
    ? { type: 'record', of }
    : { type: 'json' };
}

/** What a new item of a list, or a new value of a record, begins with. */
export function newItemOf(schema: Schema): Json {
  if (schema.default !== undefined) return structuredClone(schema.default);
  switch (fieldFor(schema).type) {
    case 'group':
      return initialOf(schema);
    case 'record':
      return {};
    case 'list':
    case 'lines':
      return [];
    case 'switch':
      return false;
    default:
      return '';
  }
}

function optionsOf(schema: Schema): Json[] | undefined {
  if (schema.enum) return schema.enum;
  if (schema.const !== undefined) return [schema.const];
  const either = schema.anyOf ?? schema.oneOf;
  if (!either?.every((one) => one.const !== undefined)) return undefined;
  return either.map((one) => one.const as Json);
}

/** The initial value of a form: the defaults, which switches and selects must show. */
export function initialOf(schema: Schema): JsonObject {
  const value: JsonObject = {};
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    if (field.default !== undefined) value[name] = structuredClone(field.default);
    if (fieldFor(field).type !== 'group') continue;
    const isWanted = schema.required?.includes(name) || field.default !== undefined;
    if (isWanted) value[name] = { ...initialOf(field), ...(value[name] as JsonObject | undefined) };
  }
  return value;
}

/** What is wrong with fields, by path. */
export type Faults = ReadonlyMap<string, string>;

export const REQUIRED = t('fault.required');
export const NOT_JSON = t('fault.notJson');
const NOT_NUMBER = t('fault.notNumber');
const NOT_WHOLE = t('fault.notWhole');

/** Basic validation, by field path. The service validates completely. */
export function faultsOf(schema: Schema, value: JsonObject, path: string): Map<string, string> {
  const faults = new Map<string, string>();
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const isRequired = schema.required?.includes(name) === true && field.default === undefined;
    addFaults(faults, field, value[name], `${path}.${name}`, isRequired);
  }
  return faults;
}

function addFaults(
  faults: Map<string, string>,
  field: Schema,
  given: Json | undefined,
  at: string,
  isRequired: boolean,
): void {
  const { minimum, maximum } = field;
  const kind = fieldFor(field);
  if (given === undefined || given === '') {
    if (isRequired) faults.set(at, REQUIRED);
  } else if (given instanceof NotJson) {
    faults.set(at, NOT_JSON);
  } else if (kind.type === 'group' && isObject(given)) {
    for (const [below, fault] of faultsOf(field, given, at)) faults.set(below, fault);
  } else if (kind.type === 'list' && Array.isArray(given)) {
    for (const [n, item] of given.entries()) addFaults(faults, kind.of, item, `${at}[${n}]`, true);
  } else if (kind.type === 'record' && isObject(given)) {
    for (const [name, item] of Object.entries(given)) {
      addFaults(faults, kind.of, item, `${at}.${name}`, true);
    }
  } else if (typeof given === 'number') {
    if (Number.isNaN(given)) faults.set(at, NOT_NUMBER);
    else if (minimum !== undefined && given < minimum) {
      faults.set(at, t('fault.less', { n: minimum }));
    } else if (maximum !== undefined && given > maximum) {
      faults.set(at, t('fault.more', { n: maximum }));
    } else if (field.type === 'integer' && !Number.isInteger(given)) {
      faults.set(at, NOT_WHOLE);
    }
  }
}

/** The difference as a body for `PATCH`: null removes a key. */
export function changesBetween(before: JsonObject, after: JsonObject): JsonObject {
  const changes: JsonObject = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[name], after[name]];
    if (JSON.stringify(was) === JSON.stringify(is)) continue;
    if (is === undefined) changes[name] = null;
    else changes[name] = isObject(was) && isObject(is) ? changesBetween(was, is) : is;
  }
  return changes;
}

/** Without empty fields. */
export function filled(value: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const [name, given] of Object.entries(value)) {
    if (given === undefined || given === '') continue;
    result[name] = isObject(given)
      ? filled(given)
      : Array.isArray(given)
        ? given.map((item) => (isObject(item) ? filled(item) : item))
        : given;
  }
  return result;
}

/** For display: secrets are masked. */
export function withoutSecrets(schema: Schema, value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, given]) => {
      const field = schema.properties?.[name] ?? {};
      if (field.writeOnly) return [name, '•••'];
      return [name, isObject(given) ? withoutSecrets(field, given) : given];
    }),
  );
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
