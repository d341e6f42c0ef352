import { allows } from '../../shared/contract/rights.js';
import type { GuardedRoute, OpenRoute, RouteName } from '../../shared/contract/routes/table.js';
import { DroverError } from '../../shared/errors.js';
import { ROUTES, routeNumber } from '../../shared/routes.js';
import { type Authenticator, type Caller, originOf } from '../access/auth.js';
import { FREE_BYTES } from '../engine/body-room.js';
import type { Exchange } from '../engine/engine.js';
import { InFlightLimiter, InFlightSlot } from '../engine/in-flight-limiter.js';
import { emptyResponse, errorResponse } from '../engine/responses.js';
import type { BodyLimits } from '../http/json-body.js';
import { reached, requestRuns } from '../http/running-request.js';
import type { Activities, Activity } from '../table/activities.js';
import {
  type CallerHandler,
  type Guard,
  type Handler,
  type OpenHandler,
  routeCalls,
} from '../table/handlers.js';
import type { AccessLog } from './access-log.js';
import type { Clients } from './clients.js';
import type { Cors } from './cors.js';
import { ExchangeDecorator } from './exchange-decorator.js';
import { Refusals } from './refusals.js';
import { type RouteMethods, Router } from './router.js';

export interface RequestHandlerOptions {
  auth: Pick<Authenticator, 'authenticate' | 'recheck'>;
  limits: BodyLimits;
  activities: Activities;
  clients: Clients;
  cors: Cors;
  /** Additional headers of responses over HTTPS; empty without a certificate. */
  secureHeaders: readonly string[];
  log: Pick<AccessLog, 'isOn' | 'logsAll' | 'add'>;
  /** Longest path with its query, in characters. */
  maxUrlBytes: number;
  /** Requests that may wait at one time, for each route and method. */
  maxInFlight: number;
}

/**
 * Routes that end what a bot costs. Under pressure a client's starts are refused, and those refusals must not keep it from a
 * stop.
 */
const RELIEF: ReadonlySet<GuardedRoute> = new Set([
  'POST /api/bots/{id}/stop',
  'DELETE /api/bots/{id}',
]);

/**
 * Runs in a front thread. Owns the way of a request: router, bounds, authentication, handler, response. It needs no thread
 * and no socket: {@link RequestHandler.handle} takes any {@link Exchange}.
 */
export class RequestHandler implements Guard {
  readonly #router = new Router<Handler>();
  readonly #options: RequestHandlerOptions;
  readonly #decorates: boolean;
  readonly #refusals = new Refusals();
  /** The refused requests of {@link RELIEF}. */
  readonly #reliefRefusals = new Refusals();

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
    const { clients, cors, log, secureHeaders } = options;
    this.#decorates = cors.isOn || log.isOn || clients.areForwarded || secureHeaders.length > 0;
  }

  /** Takes a handler for every route of the table. */
  routes(handlers: Readonly<Record<RouteName, Handler>>): this {
    const paths = new Map<string, RouteMethods<Handler>>();
    for (const [name, handler] of Object.entries(handlers)) {
      const [method, path] = name.split(' ') as [keyof RouteMethods<Handler>, string];
      const number = routeNumber(name as RouteName);
      const bounded = boundInFlight(handler, number, this.#options.maxInFlight);
      paths.set(path, { ...paths.get(path), [method]: bounded });
    }
    for (const [path, methods] of paths) this.#router.add(path, methods);
    return this;
  }

  /** Puts the check of the request before the handler. */
  open<R extends OpenRoute>(route: R, handler: OpenHandler<R>): Handler {
    const { limits, activities } = this.#options;
    // No token is needed to send a body, so it takes nothing of the shared room for bodies.
    const maxBytes = Math.min(limits.maxBytes, FREE_BYTES);
    const callOf = routeCalls(route, { ...limits, maxBytes });
    const { activity: name } = ROUTES[route];
    if (name === null) return (exchange, path) => handler(exchange, callOf(exchange, path, null));
    return async (exchange, path) => {
      const actor = { name: null, token: null, ...originOf(exchange) };
      const activity = activities.begin(name, actor);
      await activity.during(async () => handler(exchange, callOf(exchange, path, activity)));
    };
  }

  guarded<R extends GuardedRoute>(route: R, handler: CallerHandler<R>): Handler {
    const { auth, limits, activities } = this.#options;
    const { activity: name } = ROUTES[route];
    const refusals = RELIEF.has(route) ? this.#reliefRefusals : this.#refusals;
    const callOf = routeCalls(route, limits);
    return (exchange, path) => {
      const caller = auth.authenticate(exchange);
      const { record } = caller;
      const refuse = (thrown: unknown): never => {
        refusals.count(record, thrown);
        throw thrown;
      };
      refusals.check(record);
      const run = (activity: Activity | null): void | Promise<void> => {
        const admitted = this.admit(route, exchange, caller);
        const call = callOf(exchange, path, activity, () => auth.recheck(caller));
        return handler(exchange, admitted, call);
      };
      try {
        if (name === null) return run(null)?.catch(refuse);
        const { name: actor, id } = record;
        const activity = activities.begin(name, { name: actor, token: id, ...originOf(exchange) });
        activity.ofPath(route, path);
        return activity.during(async () => run(activity)).catch(refuse);
      } catch (thrown) {
        return refuse(thrown);
      }
    };
  }

  admit(route: GuardedRoute, exchange: Exchange, caller: Caller): Caller {
    exchange.token = caller.record.id;
    reached('request');
    const { access } = ROUTES[route];
    if (access !== 'any token' && access !== 'nothing' && !allows(caller.record, access)) {
      throw new DroverError('forbidden', `this needs a token with the scope ${access}`);
    }
    return caller;
  }

  /** Responds to one request. Never throws or rejects: what a handler throws becomes the response. */
  handle(received: Exchange): void | Promise<void> {
    const exchange = this.#decorates ? this.#decorate(received) : received;
    requestRuns(exchange);
    try {
      if (exchange.refusal) {
        return exchange.respond({ ...errorResponse(exchange.refusal), close: true });
      }
      if (exchange.path.length + exchange.query.length > this.#options.maxUrlBytes) {
        throw new DroverError('uri_too_long');
      }
      const match = this.#router.match(exchange.method, exchange.path);
      switch (match.found) {
        case 'handler':
          return match
            .handler(exchange, match.parameters)
            ?.catch((thrown: unknown) => exchange.respond(errorResponse(thrown)));
        case 'options': {
          const preflight = this.#options.cors.preflight(exchange.header('origin'), match.allow);
          return exchange.respond(emptyResponse(204, ['Allow', match.allow, ...preflight]));
        }
        case 'method_not_allowed': {
          const refusal = errorResponse(new DroverError('method_not_allowed'));
          return exchange.respond({
            ...refusal,
            headers: [...refusal.headers, 'Allow', match.allow],
          });
        }
        case 'nothing':
          throw new DroverError('not_found');
      }
    } catch (thrown) {
      exchange.respond(errorResponse(thrown));
    }
  }

  #decorate(exchange: Exchange): Exchange {
    const { clients, cors, log, secureHeaders } = this.#options;
    const began = performance.now();
    return new ExchangeDecorator(exchange, {
      client: clients.of(exchange),
      headers: [...secureHeaders, ...(cors.isOn ? cors.headersFor(exchange.header('origin')) : [])],
      responded: (decorated, status) => {
        if (!log.isOn) return;
        const { method, path, query, address, scheme, token } = decorated;
        const ms = performance.now() - began;
        log.add({ method, path, query, address, scheme, token, status, ms });
      },
    });
  }
}

/** Refuses a request while `max` of the same route wait for something. */
function boundInFlight(handler: Handler, route: number, max: number): Handler {
  const limiter = new InFlightLimiter(max);
  return (exchange, parameters) => {
    exchange.route = route;
    limiter.check();
    const slot = new InFlightSlot(limiter);
    exchange.slot = slot;
    const pending = handler(exchange, parameters);
    if (!pending) return;
    slot.begin();
    // Not finally(), which makes three promises.
    return pending.then(
      () => slot.end(),
      (thrown: unknown) => {
        slot.end();
        throw thrown;
      },
    );
  };
}
