// Validators of bot kinds' schemas, in main and in bot hosts. Authors write the schemas, and any client that may create a bot or
// call a command chooses the values: no value may keep the thread for long.

import { type Context, createContext, Script } from 'node:vm';
import type { Ajv, AnySchema, ValidateFunction } from 'ajv';
import { DroverError } from './errors.js';
import { lazy } from './lazy.js';
import { require } from './package-paths.js';
import { schemaPattern } from './query/schema-pattern.js';

/** Longest check of one value, in ms. Most take less than one. */
const MAX_CHECK_MS = 100;
/**
 * Checks whose time can grow faster than the value: recursion tries all ways, objects are compared each with each, and the
 * expression of the format `url` tries.
 */
const COSTLY = /"(?:\$ref|uniqueItems)":|"format":"url"/;

/** For all schemas of a thread's kinds: it fills in their defaults. @returns a function that creates it the first time. */
export function kindAjv(): () => Ajv {
  return lazy(() => {
    // Loading Ajv takes 20 ms, and nothing before the first bot or command needs it.
    const { Ajv } = require('ajv') as typeof import('ajv');
    const { default: addFormats } = require('ajv-formats') as typeof import('ajv-formats');
    let isTried = false;
    const regExp = Object.assign(
      (source: string, flags: string) => {
        const pattern = schemaPattern(source, flags);
        isTried ||= !pattern.isLinear;
        return pattern;
      },
      // Used only in schemas that are written to files, which these are not.
      { code: 'new RegExp' },
    );
    // KindSchemas reports unknown formats.
    const ajv = addFormats.default(
      new Ajv({
        useDefaults: true,
        strict: false,
        logger: false,
        allErrors: true,
        code: { regExp },
      }),
    );
    const compile = ajv.compile.bind(ajv);
    ajv.compile = ((schema: AnySchema) => {
      isTried = false;
      const validate = compile(schema);
      return isTried || COSTLY.test(JSON.stringify(schema)) ? timed(validate) : validate;
    }) as Ajv['compile'];
    return ajv;
  });
}

/** The validator, which throws DroverError `bad_request` for a value that takes too long. */
function timed(validate: ValidateFunction): ValidateFunction {
  const check = (value: unknown): boolean => {
    const isValid = withinTime(() => validate(value) as boolean);
    check.errors = validate.errors;
    return isValid;
  };
  check.errors = validate.errors;
  return check as unknown as ValidateFunction;
}

const script = lazy(() => new Script('task()'));
const context = lazy((): Context => createContext({}));

function withinTime(task: () => boolean): boolean {
  context()['task'] = task;
  for (let isAgain = false; ; isAgain = true) {
    try {
      return script().runInContext(context(), { timeout: MAX_CHECK_MS }) as boolean;
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw thrown;
      // Measures once more, because the machine may have been asleep or busy.
      if (!isAgain) continue;
      throw new DroverError(
        'bad_request',
        `this value takes more than ${MAX_CHECK_MS} ms to check against the schema of its kind`,
      );
    }
  }
}
