import type { ValidateFunction } from 'ajv';
import * as generated from '#generated/bus-validators.js';
import { explainNamed } from '../../shared/contract/explain.js';
import { isDeeper } from '../../shared/contract/json-depth.js';
import { DroverError, messageOf, type PlainError } from '../../shared/errors.js';
import type { SchemaName, SchemaValue } from '../../shared/schemas.js';

type BusSchema = Extract<SchemaName, `Bus${string}`>;
export type Named<S extends BusSchema> = keyof SchemaValue<S> & string;

/** Check what comes over NATS. Apart from validators.ts, because only nodes of a cluster need them. */
export const BUS_VALIDATORS = generated as unknown as {
  readonly [S in BusSchema]: ValidateFunction<SchemaValue<S>>;
};
/** Levels of nesting. At 5,000 some of those who handle it fail. */
const MAX_DEPTH = 256;
const SHOWN_UNITS = 400;

/** @param name one that the schema has. @throws DroverError `bad_request` that says what is wrong. */
export function checkNamed<S extends BusSchema>(schema: S, name: string, value: unknown): void {
  const why = explainNamed(BUS_VALIDATORS[schema], name, value);
  if (why !== null) throw new DroverError('bad_request', why.slice(0, SHOWN_UNITS));
}

/** What another node has thrown: it is shown, and stored as the reason of something. */
export function errorOf({ code, message, retryAfterS }: PlainError): DroverError {
  return new DroverError(code, message.slice(0, SHOWN_UNITS), retryAfterS);
}

/** JSON that the schema has by this name. @throws DroverError `bad_request` that says what is wrong. */
export function parseNamed<T>(schema: BusSchema, name: string, text: string): T {
  const value = parseJson(text);
  checkNamed(schema, name, value);
  return value as T;
}

/** @throws DroverError `bad_request` for what is no JSON, or is nested too deep. */
export function parseJson(text: string): unknown {
  if (text.length > 2 * MAX_DEPTH && isDeeper(Buffer.from(text), MAX_DEPTH)) {
    throw new DroverError('bad_request', 'it is nested too deep');
  }
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new DroverError(
      'bad_request',
      `it is not JSON: ${messageOf(thrown).slice(0, SHOWN_UNITS)}`,
    );
  }
}
