// Runs in main. Reads and checks the definitions of programs: entries of the configuration, and manifests.

import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { BOT_ID, BOT_ID_WORDS } from '../../shared/contract/bot-id.js';
import { explainSchemaError } from '../../shared/contract/explain.js';
import type { JsonObject } from '../../shared/contract/json.js';
import type { Program, ProgramDefinition } from '../../shared/contract/programs.js';
import { messageOf } from '../../shared/errors.js';
import { validatorOf } from '../../shared/validators.js';

/** How the name of a manifest ends. */
export const MANIFEST = '.program.json';

const NO_CONFIG: JsonObject = { type: 'object', properties: {}, additionalProperties: false };
/** With one of them, keys may be allowed elsewhere than in `properties`. */
const OTHER_KEYS = [
  'additionalProperties',
  'unevaluatedProperties',
  '$ref',
  'anyOf',
  'oneOf',
  'allOf',
];

/** The module name of a program of the configuration. */
export function programModule(kind: string): string {
  return `programs/${kind}`;
}

/** @param graceMs of a stop. @throws Error with what is wrong, in one line. */
export function readManifest(file: string, graceMs: number): Program {
  const kind = basename(file, MANIFEST);
  if (!BOT_ID.test(kind)) {
    throw new Error(`the name of the kind, ${JSON.stringify(kind)}, must be ${BOT_ID_WORDS}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8').replace(/^\ufeff/, ''));
  } catch (thrown) {
    throw new Error(`it is not valid JSON: ${messageOf(thrown)}`);
  }
  const { $schema: _, ...definition } = (value ?? {}) as JsonObject;
  const validate = validatorOf('ProgramDefinition');
  if (!validate(definition)) throw new Error(explainSchemaError('', validate.errors));
  return programOf(kind, definition, dirname(file), graceMs);
}

/** @param dir what relative paths are seen from. @throws Error with what is wrong, in one line. */
export function programOf(
  kind: string,
  definition: ProgramDefinition,
  dir: string,
  graceMs: number,
): Program {
  const { command, cwd = '.', env = {}, commands, protocol } = definition;
  if (command[0] === '') throw new Error('command[0] is empty: it must name a program');
  if (protocol === 'raw' && commands !== undefined) {
    throw new Error('commands: a raw program has send, signal and eof only');
  }
  const config = configSchema(definition.config);
  const keys = config['properties'] as JsonObject | undefined;
  for (const [name, value] of Object.entries(env)) {
    if (typeof value === 'string' || Object.hasOwn(keys ?? {}, value.config)) continue;
    throw new Error(`env.${name}: the schema of the configuration has no key ${value.config}`);
  }
  return { kind, definition, cwd: resolve(dir, cwd), config, graceMs };
}

/** Keys that are not known are refused, unless the schema says something about them. */
function configSchema(schema: JsonObject | undefined): JsonObject {
  if (schema === undefined) return NO_CONFIG;
  const { type = 'object' } = schema;
  if (type !== 'object') {
    throw new Error(`config must be the schema of an object, not of type ${JSON.stringify(type)}`);
  }
  const isOpen = OTHER_KEYS.some((key) => key in schema);
  return { ...schema, type, ...(isOpen ? {} : { additionalProperties: false }) };
}
