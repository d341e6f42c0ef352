import type { RouteName } from '../table/route-table.js';
import { AUTH_OPERATIONS } from './auth-operations.js';
import { BOT_OPERATIONS } from './bot-operations.js';
import { EVENT_OPERATIONS } from './event-operations.js';
import { NODE_OPERATIONS } from './node-operations.js';
import type { Operation } from './operation.js';
import { RULE_OPERATIONS } from './rule-operations.js';
import { SERVICE_OPERATIONS } from './service-operations.js';

/** Describes every route; one without a description does not compile. Requests are validated against the same schemas. */
export const OPERATIONS: Readonly<Record<RouteName, Operation>> = {
  ...SERVICE_OPERATIONS,
  ...AUTH_OPERATIONS,
  ...EVENT_OPERATIONS,
  ...BOT_OPERATIONS,
  ...RULE_OPERATIONS,
  ...NODE_OPERATIONS,
};
