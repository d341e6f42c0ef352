import type { GuardedRoute } from '../../shared/contract/routes/table.js';
import { MAX_RUN_BYTES } from '../../shared/contract/runs.js';
import { DroverError } from '../../shared/errors.js';
import type { Caller } from '../access/auth.js';
import { jsonResponse, SAFE_HEADERS } from '../engine/responses.js';
import type { CallerHandlers } from '../table/handlers.js';
import type { RunFiles } from './run-files.js';

export interface RunRoutesParts {
  runs: Pick<RunFiles, 'list' | 'read'>;
}

type RunRoutes = Extract<GuardedRoute, `${string} /api/runs${string}`>;

/** `/api/runs`: a front reads the files itself. */
export function runRoutes({ runs }: RunRoutesParts): CallerHandlers<RunRoutes> {
  return {
    async 'GET /api/runs'(exchange, caller) {
      mayRead(caller);
      exchange.respond(jsonResponse(JSON.stringify(await runs.list())));
    },
    async 'GET /api/runs/{name}'(exchange, caller, { path: [name], query: { from } }) {
      mayRead(caller);
      exchange.respond({
        status: 200,
        headers: ['Content-Type', 'application/octet-stream', ...SAFE_HEADERS],
        body: await runs.read(name, from, MAX_RUN_BYTES),
      });
    },
  };
}

function mayRead({ record }: Caller): void {
  if (record.reach === null) return;
  throw new DroverError('forbidden', 'this token is limited to some bots, and runs are of all');
}
