import type { GuardedRoute } from '../../shared/contract/routes/table.js';
import { rightsOf } from '../access/auth.js';
import { emptyResponse, jsonResponse } from '../engine/responses.js';
import type { CallerHandlers } from '../table/handlers.js';
import type { Control } from './control.js';

export interface RuleRoutesParts {
  control: Control;
}

type RuleRoutes = Extract<GuardedRoute, `${string} /api/rules${string}`>;

/** Asks main, which stores the rules. */
export function ruleRoutes({ control }: RuleRoutesParts): CallerHandlers<RuleRoutes> {
  return {
    async 'GET /api/rules'(exchange, caller) {
      const list = await control.call('rules', { rights: rightsOf(caller) });
      exchange.respond(jsonResponse(JSON.stringify(list)));
    },
    async 'POST /api/rules'(exchange, caller, call) {
      const body = await call.body();
      call.activity.target = body.name;
      const rule = await control.call('createRule', { body, rights: rightsOf(caller) });
      exchange.respond(jsonResponse(JSON.stringify(rule), 201));
    },
    async 'PUT /api/rules/{id}'(exchange, caller, { path: [id], body: read, activity }) {
      const body = await read();
      activity.target = body.name;
      const input = { id, body, rights: rightsOf(caller) };
      exchange.respond(jsonResponse(JSON.stringify(await control.call('replaceRule', input))));
    },
    async 'DELETE /api/rules/{id}'(exchange, caller, { path: [id], activity }) {
      const { name } = await control.call('removeRule', { id, rights: rightsOf(caller) });
      activity.target = name;
      exchange.respond(emptyResponse(204));
    },
  };
}
