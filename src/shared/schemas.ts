// Owns which schemas of our own values are held against, and how Ajv is to read them: in the build (rolldown.config.mjs) and
// where nothing is built (src/shared/validators.ts).

import { InvokeBody, PinBody } from './contract/api.js';
import { BotActionsBody, CreateBotBody, UpdateBotBody } from './contract/bots.js';
import { Config } from './contract/config.js';
import { CreateTokenBody } from './contract/tokens.js';
import type { Static } from './contract/typebox.js';

export const SCHEMAS = {
  BotActionsBody,
  Config,
  CreateBotBody,
  CreateTokenBody,
  InvokeBody,
  PinBody,
  UpdateBotBody,
};

export type SchemaName = keyof typeof SCHEMAS;
export type SchemaValue<S extends SchemaName> = Static<(typeof SCHEMAS)[S]>;

/** Schemas of our own are TypeScript's too: they need not be held against the schema of schemas. */
export const AJV_OPTIONS = {
  allowUnionTypes: true,
  useDefaults: true,
  meta: false,
  validateSchema: false,
} as const;
