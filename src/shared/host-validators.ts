import type { ValidateFunction } from 'ajv';
import * as generated from '#generated/host-validators.js';
import type { SchemaName, SchemaValue } from './schemas.js';

type HostSchema = Extract<SchemaName, `Host${string}`>;

/** The validators of a bot host's messages. They are not in validators.ts, because only the relay needs them. */
export const HOST_VALIDATORS = generated as unknown as {
  readonly [S in HostSchema]: ValidateFunction<SchemaValue<S>>;
};
