// Finds faults in the definition of a kind, and reports them in the words of its author.

import type { BotKind } from '../bot-sdk/index.js';
import { BOT_ID, BOT_ID_WORDS } from '../shared/contract/bot-id.js';

type Fields = Readonly<Record<string, unknown>>;

const KIND_KEYS = ['kind', 'description', 'config', 'ready', 'state', 'commands', 'run'];
const COMMAND_KEYS = ['description', 'args', 'run'];
/** A schema without `type` that has one of these keywords may describe an object. */
const SCHEMA_KEYS = ['$ref', 'anyOf', 'oneOf', 'allOf', 'not', 'if', 'properties', 'required'];

/** Whether a module's export is meant to be a kind, complete or not. */
export function isMeantAsKind(value: unknown): value is Fields {
  if (!isObject(value)) return false;
  return ['kind', 'config', 'run', 'commands'].some((key) => key in value);
}

/** @throws Error with everything that is wrong, in one line. */
export function checkKind(value: Fields): asserts value is Fields & BotKind {
  const faults = kindFaults(value);
  if (faults.length > 0) throw new Error(faults.join('; '));
}

function kindFaults(value: Fields): string[] {
  const { kind, config, ready, state, commands, run } = value;
  const faults = [
    ...wrongType('kind', kind, 'string'),
    ...(typeof kind === 'string' && !BOT_ID.test(kind)
      ? [`the name of the kind, ${JSON.stringify(kind)}, must be ${BOT_ID_WORDS}`]
      : []),
    ...schemaFaults('config', config),
    ...wrongType('run', run, 'function'),
    ...(ready === undefined ? [] : wrongType('ready', ready, 'string')),
    ...unknownKeys('', value, KIND_KEYS),
  ];
  if (faults.length === 0 && (state === undefined || commands === undefined)) {
    return ['it is not made by defineBot'];
  }
  if (state !== undefined) faults.push(...wrongType('state', state, 'function'));
  if (commands === undefined) return faults;
  if (!isObject(commands)) return [...faults, ...wrongType('commands', commands, 'object')];
  return [
    ...faults,
    ...Object.entries(commands).flatMap(([name, one]) => commandFaults(name, one)),
  ];
}

function commandFaults(name: string, command: unknown): string[] {
  const what = `commands.${name}`;
  if (!isObject(command)) return wrongType(what, command, 'object');
  return [
    ...schemaFaults(`${what}.args`, command['args']),
    ...wrongType(`${what}.run`, command['run'], 'function'),
    ...unknownKeys(`${what}.`, command, COMMAND_KEYS),
  ];
}

function schemaFaults(what: string, schema: unknown): string[] {
  if (!isObject(schema)) return wrongType(what, schema, 'object');
  const { type } = schema;
  const keys = Object.keys(schema);
  if (type === 'object' || keys.length === 0) return [];
  if (typeof type === 'string') {
    return [`${what} must be the schema of an object, not of type ${type}: use Type.Object({ … })`];
  }
  if (type !== undefined || keys.some((key) => SCHEMA_KEYS.includes(key))) return [];
  return [`${what} is no schema: wrap its keys in Type.Object({ … })`];
}

function wrongType(what: string, value: unknown, type: 'string' | 'function' | 'object'): string[] {
  if (value === undefined) return [`${what} is missing`];
  const is = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return is === type ? [] : [`${what} must be a${type === 'object' ? 'n' : ''} ${type}, not ${is}`];
}

function unknownKeys(path: string, value: Fields, known: readonly string[]): string[] {
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const meant = known.find((one) => key !== '' && (one.startsWith(key) || key.startsWith(one)));
      const hint =
        meant === undefined ? `: there are ${known.join(', ')}` : `: did you mean ${meant}?`;
      return `unknown key ${path}${key}${hint}`;
    });
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
