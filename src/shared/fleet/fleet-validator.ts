import type { ValidateFunction } from 'ajv';
import { FleetFile } from '#generated/fleet-validator.js';
import type { SchemaValue } from '../schemas.js';

/** Checks the value of a fleet file, and finds all of its faults. Not in validators.ts: only who reads a fleet file needs it. */
export const validateFleet = FleetFile as unknown as ValidateFunction<SchemaValue<'FleetFile'>>;
