import type { Scope } from '../../shared/contract/tokens.js';

/** What a caller needs: a scope, any valid token, or nothing. */
export type Access = Scope | 'any token' | 'nothing';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * All routes, and who may call each. src/front/routes.ts has exactly one handler for each line: a route without a line cannot
 * be called.
 */
export const ACCESS = {
  'GET /': 'nothing',
  'GET /assets/{file}': 'nothing',
  'GET /health': 'nothing',
  'GET /ready': 'nothing',
  'GET /openapi.json': 'nothing',
  'GET /docs': 'nothing',
  'POST /auth/pin': 'nothing',
  'POST /auth/link': 'nothing',
  'POST /auth/link/check': 'nothing',
  'POST /auth/ticket': 'read',
  'GET /api-info': 'any token',
  'GET /events': 'read',
  'GET /api/bots': 'read',
  'POST /api/bots': 'control',
  'POST /api/bots/actions': 'control',
  'GET /api/bots/{id}': 'read',
  'PATCH /api/bots/{id}': 'control',
  'DELETE /api/bots/{id}': 'control',
  'POST /api/bots/{id}/start': 'control',
  'POST /api/bots/{id}/stop': 'control',
  'POST /api/bots/{id}/restart': 'control',
  'POST /api/bots/{id}/move': 'control',
  'GET /api/bots/{id}/config': 'read',
  'GET /api/bots/{id}/incidents': 'read',
  'GET /api/bots/{id}/history': 'read',
  'GET /api/incidents': 'read',
  'GET /api/incidents/groups': 'read',
  'GET /api/events': 'read',
  'GET /api/states': 'read',
  'GET /api/stats': 'read',
  'GET /api/rules': 'read',
  'POST /api/rules': 'control',
  'PUT /api/rules/{id}': 'control',
  'DELETE /api/rules/{id}': 'control',
  'GET /api/kinds': 'read',
  'POST /api/kinds/{kind}/release': 'control',
  'GET /api/nodes': 'read',
  'POST /api/nodes/rebalance': 'admin',
  'DELETE /api/nodes/records/{bucket}/{key}': 'admin',
  'POST /api/nodes/{node}/cordon': 'admin',
  'POST /api/nodes/{node}/uncordon': 'admin',
  'POST /api/nodes/{node}/drain': 'admin',
  'DELETE /api/nodes/{node}': 'admin',
  'GET /api/runs': 'read',
  'GET /api/runs/{name}': 'read',
  'GET /api/hosts': 'read',
  'GET /api/pressure': 'read',
  'GET /metrics': 'read',
  'GET /api/tokens': 'admin',
  'POST /api/tokens': 'admin',
  'POST /api/tokens/link': 'admin',
  'GET /api/tokens/current': 'any token',
  'DELETE /api/tokens/current': 'any token',
  'DELETE /api/tokens/{id}': 'admin',
  'POST /invoke': 'invoke',
} as const satisfies Record<`${Method} /${string}`, Access>;

export type RouteName = keyof typeof ACCESS;
/** All routes. Counters number them from 1; 0 is for requests without a route. */
export const ROUTE_NAMES = Object.keys(ACCESS) as RouteName[];

export function routeNumber(name: RouteName): number {
  return ROUTE_NAMES.indexOf(name) + 1;
}

/** Routes without authentication. */
export type OpenRoute = {
  [K in RouteName]: (typeof ACCESS)[K] extends 'nothing' ? K : never;
}[RouteName];
/** Routes that need a token. */
export type GuardedRoute = Exclude<RouteName, OpenRoute>;
