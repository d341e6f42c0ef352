// Checks the arguments of a kind's commands, in main and in bot hosts.

import type { Ajv, ValidateFunction } from 'ajv';
import { DroverError, messageOf } from '../errors.js';
import { lazy } from '../lazy.js';
import type { KindInfo } from './bots.js';
import { explainSchemaError } from './explain.js';
import type { JsonObject } from './json.js';

/** @param what the schema is, for the error. @throws Error when it is not valid. */
export function compileAs(what: string, validator: () => ValidateFunction): void {
  try {
    validator();
  } catch (thrown) {
    throw new Error(`${what}: ${messageOf(thrown)}`);
  }
}

/** A copy of the value with the defaults of its schema. @param what it is, for the error. @throws DroverError `bad_request`. */
export function checkedCopy(
  validate: ValidateFunction,
  what: string,
  value: JsonObject,
): JsonObject {
  const copy = structuredClone(value);
  fillIn(validate, what, copy);
  return copy;
}

function fillIn(validate: ValidateFunction, what: string, value: JsonObject): void {
  if (validate(value)) return;
  throw new DroverError('bad_request', explainSchemaError(what, validate.errors));
}

/** The commands of one kind. Each schema is compiled when it is first needed. */
export class CommandArgs {
  readonly #kind: string;
  readonly #validators: ReadonlyMap<string, () => ValidateFunction>;

  /** @param ajv from kind-ajv.ts. */
  constructor(kind: string, commands: KindInfo['commands'], ajv: () => Ajv) {
    this.#kind = kind;
    this.#validators = new Map(
      Object.entries(commands).map(([name, { args }]) => [name, lazy(() => ajv().compile(args))]),
    );
  }

  /** Compiles all schemas now. @throws Error when one is not valid. */
  compile(): void {
    for (const [name, validator] of this.#validators) compileAs(`commands.${name}.args`, validator);
  }

  /** Fills in the defaults. @throws DroverError `not_found` for an unknown command, `bad_request`. */
  check(command: string, args: JsonObject): void {
    const validator = this.#validators.get(command);
    if (!validator) {
      const known = [...this.#validators.keys()].join(', ') || 'none';
      throw new DroverError(
        'not_found',
        `no command ${JSON.stringify(command)}; bots of kind ${this.#kind} have: ${known}`,
      );
    }
    fillIn(validator(), 'args', args);
  }
}
