// Runs in a front thread. Owns the way of a request: router, authentication, handler, answer.

import { allows } from '../shared/contract/tokens.js';
import { DroverError } from '../shared/errors.js';
import type { AccessLog } from './access-log.js';
import type { Authenticator, Caller } from './auth.js';
import type { Cors } from './cors.js';
import type { Exchange } from './engine/engine.js';
import { ExchangeDecorator } from './exchange-decorator.js';
import { InFlightLimiter, InFlightSlot } from './in-flight-limiter.js';
import { emptyAnswer, errorAnswer } from './responses.js';
import { ACCESS, type GuardedRoute, type RouteName, routeNumber } from './route-table.js';
import { type RouteMethods, Router } from './router.js';

/** A handler of a route that anybody may call, or that asks itself who calls. */
export type OpenHandler = (
  exchange: Exchange,
  parameters: readonly string[],
) => void | Promise<void>;
/** A handler of a route that needs a token. */
export type CallerHandler = (
  exchange: Exchange,
  caller: Caller,
  parameters: readonly string[],
) => void | Promise<void>;

export interface FrontOptions {
  auth: Authenticator;
  cors: Cors;
  log: AccessLog;
  /** Longest path with its query. */
  maxUrlBytes: number;
  /** Requests that are worked on at once, for each route and method. */
  maxInFlight: number;
}

export class Front {
  readonly #router = new Router<OpenHandler>();
  readonly #options: FrontOptions;
  /** Who sent a request; only while the access log is on. */
  readonly #callers = new WeakMap<Exchange, string>();
  readonly #dresses: boolean;

  constructor(options: FrontOptions) {
    this.#options = options;
    this.#dresses = options.cors.isOn || options.log.isOn;
  }

  /** Takes a handler for every route of the table. */
  routes(handlers: Readonly<Record<RouteName, OpenHandler>>): this {
    const paths = new Map<string, RouteMethods<OpenHandler>>();
    for (const [name, handler] of Object.entries(handlers)) {
      const [method, path] = name.split(' ') as [keyof RouteMethods<OpenHandler>, string];
      const number = routeNumber(name as RouteName);
      const bounded = boundInFlight(handler, number, this.#options.maxInFlight);
      paths.set(path, { ...paths.get(path), [method]: bounded });
    }
    for (const [path, methods] of paths) this.#router.add(path, methods);
    return this;
  }

  /** The handler behind what its route asks of a caller. */
  guarded(route: GuardedRoute, handler: CallerHandler): OpenHandler {
    return (exchange, parameters) =>
      handler(
        exchange,
        this.admit(route, exchange, this.#options.auth.authenticate(exchange)),
        parameters,
      );
  }

  /** The caller, when the route's access lets it in. @throws DroverError `forbidden`. */
  admit(route: GuardedRoute, exchange: Exchange, caller: Caller): Caller {
    if (this.#options.log.isOn) this.#callers.set(exchange, caller.record.id);
    const access = ACCESS[route];
    if (access !== 'any token' && !allows(caller.record, access)) {
      throw new DroverError('forbidden', `this needs a token with the scope ${access}`);
    }
    return caller;
  }

  /** Answers one request. Never throws: what a handler throws becomes the answer. */
  handle(received: Exchange): void | Promise<void> {
    const exchange = this.#dresses ? this.#dress(received) : received;
    try {
      // Its end is not known before it has come, and engines disagree on how it is spelled (request smuggling).
      if (exchange.header('transfer-encoding') !== '') throw new DroverError('length_required');
      if (exchange.path.length + exchange.query.length > this.#options.maxUrlBytes) {
        throw new DroverError('uri_too_long');
      }
      const match = this.#router.match(exchange.method, exchange.path);
      switch (match.found) {
        case 'handler':
          return match
            .handler(exchange, match.parameters)
            ?.catch((thrown: unknown) => exchange.answer(errorAnswer(thrown)));
        case 'options': {
          const preflight = this.#options.cors.preflight(exchange.header('origin'), match.allow);
          return exchange.answer(emptyAnswer(204, ['Allow', match.allow, ...preflight]));
        }
        case 'method_not_allowed': {
          const answer = errorAnswer(new DroverError('method_not_allowed'));
          return exchange.answer({ ...answer, headers: [...answer.headers, 'Allow', match.allow] });
        }
        case 'nothing':
          throw new DroverError('not_found');
      }
    } catch (thrown) {
      exchange.answer(errorAnswer(thrown));
    }
  }

  #dress(exchange: Exchange): Exchange {
    const { cors, log } = this.#options;
    const began = performance.now();
    return new ExchangeDecorator(exchange, {
      headers: cors.isOn ? cors.headersFor(exchange.header('origin')) : [],
      answered: (dressed, status) => {
        if (!log.isOn) return;
        const { method, path, query, address } = dressed;
        const token = this.#callers.get(dressed);
        log.add({ method, path, query, address, token, status, ms: performance.now() - began });
      },
    });
  }
}

/** The same handler, which refuses a request while `max` of its route wait for something. */
function boundInFlight(handler: OpenHandler, route: number, max: number): OpenHandler {
  const load = new InFlightLimiter(max);
  return (exchange, parameters) => {
    exchange.route = route;
    load.check();
    const turn = new InFlightSlot(load);
    exchange.turn = turn;
    const pending = handler(exchange, parameters);
    if (!pending) return;
    turn.begin();
    return pending.finally(() => turn.end());
  };
}
