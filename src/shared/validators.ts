import type { ValidateFunction } from 'ajv';
import * as generated from '#generated/validators.js';
import type { SchemaName, SchemaValue } from './schemas.js';

export type BodySchema = Exclude<
  SchemaName,
  'Config' | 'FleetFile' | `Host${string}` | `Bus${string}`
>;

// Generated, because loading Ajv and compiling the schemas took a quarter of the CPU time of a start.
const VALIDATORS = generated as unknown as { [S in BodySchema]: ValidateFunction<SchemaValue<S>> };

/** Checks a value against the schema, and fills in defaults. For the configuration: config-validator.ts. */
export function validatorOf<S extends BodySchema>(name: S): ValidateFunction<SchemaValue<S>> {
  return VALIDATORS[name];
}
