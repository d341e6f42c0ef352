// Used by main and the fronts. Owns how values are held against schemas of our own.

import { Ajv, type ValidateFunction } from 'ajv';
import type { Static, TSchema } from './contract/typebox.js';
import { lazily } from './lazily.js';

/** Schemas of our own are TypeScript's too: to ask the schema of schemas of them would cost 50 ms of each start. */
const ajv = lazily(
  () => new Ajv({ allowUnionTypes: true, useDefaults: true, meta: false, validateSchema: false }),
);

/** The schema is compiled when it is first needed: all of them together would cost another 50 ms. */
export function validatorOf<S extends TSchema>(schema: S): () => ValidateFunction<Static<S>> {
  return lazily(() => ajv().compile(schema) as ValidateFunction<Static<S>>);
}
