import type { Json, JsonObject } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import { kindAjv } from '../../shared/kind-ajv.js';
import { isObject } from './program-peer.js';

/** The schema of the arguments of each command. */
export type Commands = Readonly<Record<string, JsonObject>>;

/** @param result of `initialize`. @returns its commands, and what is wrong with the others, a line each. */
export function checkCommands(result: Json): { commands: Commands; faults: string[] } {
  if (!isObject(result)) return { commands: {}, faults: ['result must be object'] };
  const { commands: declared = {} } = result;
  if (!isObject(declared)) return { commands: {}, faults: ['result.commands must be object'] };
  const commands: Record<string, JsonObject> = {};
  const faults: string[] = [];
  const ajv = kindAjv();
  for (const [name, command] of Object.entries(declared)) {
    const at = `result.commands.${name}`;
    if (!isObject(command)) {
      faults.push(`${at} must be object`);
      continue;
    }
    const { description = '', args = {} } = command;
    if (typeof description !== 'string') faults.push(`${at}.description must be string`);
    if (!isObject(args)) {
      faults.push(`${at}.args must be a JSON Schema of an object`);
      continue;
    }
    try {
      ajv().compile(args);
      commands[name] = args as JsonObject;
    } catch (thrown) {
      faults.push(`${at}.args: ${messageOf(thrown)}`);
    }
  }
  return { commands, faults };
}

const WRONG: readonly Json[] = [null, 'wrong', -1.5, [], {}];

/** A command, and arguments that its schema refuses; undefined when there are none. */
export function wrongArgs(commands: Commands): { name: string; args: JsonObject } | undefined {
  const ajv = kindAjv();
  for (const [name, schema] of Object.entries(commands)) {
    const validate = ajv().compile(schema);
    const { properties } = schema;
    const known = isObject(properties) ? Object.keys(properties) : [];
    const tries: JsonObject[] = [
      {},
      { 'no such argument': 1 },
      ...known.flatMap((key) => WRONG.map((value) => ({ [key]: value }))),
    ];
    // A copy: defaults are filled in.
    const args = tries.find((one) => !validate(structuredClone(one)));
    if (args) return { name, args };
  }
  return undefined;
}
