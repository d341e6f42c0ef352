import type { ValidateFunction } from 'ajv';
import { Config } from '#generated/config-validator.js';
import type { SchemaValue } from './schemas.js';

/**
 * Checks a configuration, and fills in defaults. Not in validators.ts, because it is large and only a start of the
 * service needs it.
 */
export const validateConfig = Config as unknown as ValidateFunction<SchemaValue<'Config'>>;
