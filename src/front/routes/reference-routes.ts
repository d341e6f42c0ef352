import { lazy } from '../../shared/lazy.js';
import type { OpenHandler } from '../table/handlers.js';

export function referenceRoutes(): Record<'GET /openapi.json' | 'GET /docs', OpenHandler> {
  // Loaded and built for the first request: a front starts without it, and without the schemas of all routes.
  const responses = lazy(async () => (await import('../reference/described.js')).describe());
  const answer =
    (form: 'json' | 'page'): OpenHandler =>
    async (exchange) => {
      const noneMatch = exchange.header('if-none-match');
      (await responses())[form].respond(exchange, noneMatch);
    };
  return { 'GET /openapi.json': answer('json'), 'GET /docs': answer('page') };
}
