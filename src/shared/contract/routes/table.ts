// Every route, once. From these entries come the check and the types of requests, the types of the client, the OpenAPI document, the
// tables of docs/API.md, and the texts of flags that are parameters.

import type { Static, TSchema } from '../typebox.js';
import { AUTH_ROUTES } from './auth.js';
import { BOT_ROUTES } from './bots.js';
import { EVENT_ROUTES } from './events.js';
import { FLEET_ROUTES } from './fleet.js';
import { NODE_ROUTES } from './nodes.js';
import { OPERATION_ROUTES } from './operations.js';
import type { Parameter } from './parameters.js';
import { RULE_ROUTES } from './rules.js';
import { SERVICE_ROUTES } from './service.js';

/**
 * Threads have it without descriptions of answers (src/shared/routes.ts). src/front/routes.ts has exactly one handler for each entry.
 */
export const ROUTE_TABLE = {
  ...SERVICE_ROUTES,
  ...AUTH_ROUTES,
  ...EVENT_ROUTES,
  ...BOT_ROUTES,
  ...OPERATION_ROUTES,
  ...FLEET_ROUTES,
  ...RULE_ROUTES,
  ...NODE_ROUTES,
};

type Table = typeof ROUTE_TABLE;
export type RouteName = keyof Table;
/** Routes without authentication. */
export type OpenRoute = {
  [R in RouteName]: Table[R]['access'] extends 'nothing' ? R : never;
}[RouteName];
/** Routes that need a token. */
export type GuardedRoute = Exclude<RouteName, OpenRoute>;

/** The values of the placeholders of its path, decoded. */
export type PathOf<R extends string> = R extends `${string}{${string}}${infer Rest}`
  ? readonly [string, ...PathOf<Rest>]
  : readonly [];

type Parameters<R extends RouteName> = Table[R] extends { query: infer Q } ? Q : unknown;

/** Routes that change something. */
export type ActiveRoute = {
  [R in RouteName]: Table[R] extends { activity: string } ? R : never;
}[RouteName];

/** Its query parameters, as its handler gets them. */
export type QueryOf<R extends RouteName> = {
  readonly [K in keyof Parameters<R>]: Parameters<R>[K] extends Parameter<infer Value>
    ? Value
    : never;
};

/** Its query parameters, as a client gives them. */
export type GivenQuery<R extends RouteName> = Optional<{
  readonly [K in keyof Parameters<R>]: Parameters<R>[K] extends Parameter<unknown, infer Given>
    ? Given
    : never;
}>;

type Optional<T> = { [K in keyof T as undefined extends T[K] ? K : never]?: T[K] } & {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
};

/** Its body, with defaults filled in. */
export type BodyOf<R extends RouteName> = Table[R] extends {
  body: { schema: infer S extends TSchema };
}
  ? Static<S>
  : never;

type Answers<R extends RouteName> = Table[R]['answers'];
/** The body of its answer when it succeeds. */
export type AnswerOf<R extends RouteName> = Answers<R>[keyof Answers<R> & (200 | 201)] extends {
  schema: infer S extends TSchema;
}
  ? Static<S>
  : undefined;
