// The schemas that bodies, the configuration, what a bot host says and what comes over NATS are validated against.
// config/validators-module.ts compiles them.

import { InvokeBody, PinBody } from './contract/api.js';
import { BotActionsBody, CreateBotBody, MoveBotBody, UpdateBotBody } from './contract/bots.js';
import * as bus from './contract/bus-schemas.js';
import { Config } from './contract/config.js';
import { FleetBody, FleetFile } from './contract/fleet.js';
import {
  HostAnswers,
  HostEnds,
  HostError,
  HostTells,
  HostWatch,
} from './contract/host-messages.js';
import { ProgramDefinition } from './contract/programs.js';
import { StartRolloutBody } from './contract/rollouts.js';
import { CreateRuleBody } from './contract/rules.js';
import { CreateTokenBody, LinkBody, TokenFile } from './contract/tokens.js';
import type { Static } from './contract/typebox.js';

export const SCHEMAS = {
  ...bus,
  BotActionsBody,
  StartRolloutBody,
  Config,
  CreateBotBody,
  CreateRuleBody,
  CreateTokenBody,
  FleetBody,
  FleetFile,
  HostAnswers,
  HostEnds,
  HostError,
  HostTells,
  HostWatch,
  InvokeBody,
  LinkBody,
  MoveBotBody,
  PinBody,
  ProgramDefinition,
  TokenFile,
  UpdateBotBody,
};

export type SchemaName = keyof typeof SCHEMAS;
export type SchemaValue<S extends SchemaName> = Static<(typeof SCHEMAS)[S]>;

/** TypeScript checks these schemas already: they need no validation against the schema of schemas. */
export const AJV_OPTIONS = {
  allowUnionTypes: true,
  useDefaults: true,
  meta: false,
  validateSchema: false,
} as const;
