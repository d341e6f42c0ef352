// What threads need of the table of routes: the build takes it out of src/shared/contract/routes (config/validators-module.ts), because
// the schemas of all answers cost the start of a front 30 ms and 1 MB.

import * as generated from '#generated/routes.js';
import type { ActivityName } from './contract/activity.js';
import type { QuerySchema } from './contract/routes/parameters.js';
import type { Access } from './contract/routes/route.js';
import type { RouteName } from './contract/routes/table.js';
import type { BodySchema } from './validators.js';

export interface RouteRules {
  access: Access;
  /** Null for one that changes nothing. */
  activity: ActivityName | null;
  takesAnyQuery: boolean;
  query: QuerySchema;
  /** Bytes of its body, where that is not http.max_body_bytes. */
  maxBodyBytes?: number;
  /** Name of the schema of its body; null without a body. */
  body: BodySchema | null;
}

export const ROUTES: Readonly<Record<RouteName, RouteRules>> = generated.ROUTES;
/** Counters number them from 1; 0 is for requests without a route. */
export const ROUTE_NAMES = Object.keys(ROUTES) as RouteName[];

export function routeNumber(name: RouteName): number {
  return ROUTE_NAMES.indexOf(name) + 1;
}
