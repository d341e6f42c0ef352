import type { ValidateFunction } from 'ajv';
import { explainSchemaError } from '../shared/contract/explain.js';
import { HostFault, SHOWN_UNITS } from '../shared/pipe/host-fault.js';

/**
 * Checks one of the values that a schema has by name.
 * @param name one that the schema has. @throws HostFault, with what is wrong.
 */
export function checkNamed(validate: ValidateFunction, name: string, value: unknown): void {
  if (validate({ [name]: value })) return;
  const why = explainSchemaError('', validate.errors).replace(/^\./, '');
  throw new HostFault(why.slice(0, 4 * SHOWN_UNITS));
}
