// Runs in a front thread. Owns the way of a request: router, authentication, handler, answer.

import { DroverError } from '../errors.js';
import { emptyAnswer, errorAnswer } from './answers.js';
import type { Authenticator, Caller } from './auth.js';
import type { Exchange } from './engine/engine.js';
import { type RouteMethods, Router } from './router.js';

/** A handler of a route that anybody may call. */
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

export class Front {
  readonly #router = new Router<OpenHandler>();
  readonly #auth: Authenticator;

  constructor(auth: Authenticator) {
    this.#auth = auth;
  }

  /** A route that needs no token. */
  open(path: string, methods: RouteMethods<OpenHandler>): this {
    this.#router.add(path, methods);
    return this;
  }

  /** A route that needs a token. */
  authenticated(path: string, methods: RouteMethods<CallerHandler>): this {
    const checked: RouteMethods<OpenHandler> = {};
    for (const [method, handler] of Object.entries(methods)) {
      checked[method as keyof typeof checked] = (exchange, parameters) =>
        handler(exchange, this.#auth.authenticate(exchange), parameters);
    }
    this.#router.add(path, checked);
    return this;
  }

  /** Answers one request. Never throws: what a handler throws becomes the answer. */
  handle(exchange: Exchange): void | Promise<void> {
    try {
      // Its end is not known before it has come, and engines disagree on how it is spelled (request smuggling).
      if (exchange.header('transfer-encoding') !== '') throw new DroverError('length_required');
      const match = this.#router.match(exchange.method, exchange.path);
      switch (match.found) {
        case 'handler':
          return match
            .handler(exchange, match.parameters)
            ?.catch((thrown: unknown) => exchange.answer(errorAnswer(thrown)));
        case 'options':
          return exchange.answer(emptyAnswer(204, ['Allow', match.allow]));
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
}
