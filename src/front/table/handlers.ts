import type { Caller } from '../access/auth.js';
import type { Exchange } from '../engine/engine.js';
import type { GuardedRoute, OpenRoute } from './route-table.js';

/** A handler that needs no token, or that authenticates the client itself. */
export type OpenHandler = (
  exchange: Exchange,
  parameters: readonly string[],
) => void | Promise<void>;

/** A handler that runs for an authenticated and authorized caller. */
export type CallerHandler = (
  exchange: Exchange,
  caller: Caller,
  parameters: readonly string[],
) => void | Promise<void>;

/** A handler for each route. `GET /events` authenticates by token or by ticket itself. */
export type Handlers = Record<OpenRoute | 'GET /events', OpenHandler> &
  Record<Exclude<GuardedRoute, 'GET /events'>, CallerHandler>;

/** Authorization of the routes in src/front/table/route-table.ts. */
export interface Guard {
  /** Puts authentication and authorization before the handler. */
  guarded(route: GuardedRoute, handler: CallerHandler): OpenHandler;
  /** @returns the caller if its token allows the route. @throws DroverError `forbidden`. */
  admit(route: GuardedRoute, exchange: Exchange, caller: Caller): Caller;
}
