// Pure; used wherever Ajv validates. Owns how a validation error is said in one line.

import type { ErrorObject } from 'ajv';

/** Where the fault is, as a dotted path that begins with `what`, and what it must be. */
export function explainSchemaError(what: string, error: ErrorObject | null | undefined): string {
  if (!error) return `${what} is not valid`;
  const path = [what, ...error.instancePath.split('/').slice(1)].filter(Boolean).join('.');
  if (error.keyword === 'additionalProperties') {
    const name = (error.params as { additionalProperty: string }).additionalProperty;
    return `unknown key ${path === '' ? name : `${path}.${name}`}`;
  }
  if (error.keyword === 'required') {
    const name = (error.params as { missingProperty: string }).missingProperty;
    return `${path === '' ? name : `${path}.${name}`} is missing`;
  }
  if (error.keyword === 'enum') {
    const { allowedValues } = error.params as { allowedValues: readonly string[] };
    return `${path} must be one of ${allowedValues.join(', ')}`;
  }
  return `${path} ${error.message ?? 'is not valid'}`;
}
