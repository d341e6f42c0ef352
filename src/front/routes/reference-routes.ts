import { lazy } from '../../shared/lazy.js';
import type { Exchange } from '../engine/engine.js';
import type { OpenHandlers } from '../table/handlers.js';

export function referenceRoutes(): OpenHandlers<'GET /openapi.json' | 'GET /docs'> {
  // Loaded and built for the first request: a front starts without it, and without the schemas of all routes.
  const responses = lazy(async () => (await import('../reference/described.js')).describe());
  const answer =
    (form: 'json' | 'page') =>
    async (exchange: Exchange): Promise<void> => {
      const noneMatch = exchange.header('if-none-match');
      (await responses())[form].respond(exchange, noneMatch);
    };
  return { 'GET /openapi.json': answer('json'), 'GET /docs': answer('page') };
}
