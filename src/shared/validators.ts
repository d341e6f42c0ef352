// Used by main and the fronts. Owns how values are held against schemas of our own.
//
// In the bundles another module stands here: the code that Ajv makes of the schemas (rolldown.config.mjs). To load Ajv and
// have it compile the schema of the configuration took a quarter of the CPU of a start. This one is for what runs unbundled,
// as unit tests do.

import { Ajv, type AnySchema, type ValidateFunction } from 'ajv';
import { lazy } from './lazy.js';
import { AJV_OPTIONS, SCHEMAS, type SchemaName, type SchemaValue } from './schemas.js';

const ajv = lazy(() => new Ajv(AJV_OPTIONS));

/** Fills in defaults. */
export function validatorOf<S extends SchemaName>(name: S): ValidateFunction<SchemaValue<S>> {
  // Ajv compiles a schema once.
  return ajv().compile<SchemaValue<S>>(SCHEMAS[name] as AnySchema);
}
