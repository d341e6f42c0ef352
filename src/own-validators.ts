// Used by main and the fronts. Owns how values are held against schemas of our own.
//
// In the bundles another module stands here: the code that Ajv makes of the schemas (rolldown.config.mjs). To load Ajv and
// have it compile the schema of the configuration took a quarter of the CPU of a start. This one is for what runs unbundled,
// as unit tests do.

import { Ajv, type AnySchema, type ValidateFunction } from 'ajv';
import { lazily } from './lazily.js';
import { AJV_OPTIONS, OWN_SCHEMAS, type OwnSchema, type OwnValue } from './own-schemas.js';

const ajv = lazily(() => new Ajv(AJV_OPTIONS));

/** Fills in defaults. */
export function validatorOf<S extends OwnSchema>(name: S): ValidateFunction<OwnValue<S>> {
  // Ajv compiles a schema once.
  return ajv().compile<OwnValue<S>>(OWN_SCHEMAS[name] as AnySchema);
}
