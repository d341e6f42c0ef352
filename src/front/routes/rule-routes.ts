import { type Authenticator, rightsOf } from '../access/auth.js';
import { emptyResponse, jsonResponse } from '../engine/responses.js';
import { type BodyLimits, jsonBody } from '../http/json-body.js';
import type { Handlers } from '../table/handlers.js';
import type { Control } from './control.js';

export interface RuleRoutesParts {
  auth: Pick<Authenticator, 'recheck'>;
  control: Control;
  limits: BodyLimits;
}

type RuleRoutes = Extract<keyof Handlers, `${string} /api/rules${string}`>;

/** Main has the rules. */
export function ruleRoutes({ auth, control, limits }: RuleRoutesParts): Pick<Handlers, RuleRoutes> {
  const readCreate = jsonBody('CreateRuleBody');
  return {
    async 'GET /api/rules'(exchange, caller) {
      const list = await control.call('rules', { rights: rightsOf(caller) });
      exchange.respond(jsonResponse(JSON.stringify(list)));
    },
    async 'POST /api/rules'(exchange, caller) {
      const body = await readCreate(exchange, limits);
      auth.recheck(caller);
      const input = { body, rights: rightsOf(caller), by: caller.record.name };
      const rule = await control.call('createRule', input);
      exchange.respond(jsonResponse(JSON.stringify(rule), 201));
    },
    async 'PUT /api/rules/{id}'(exchange, caller, [id = '']) {
      const body = await readCreate(exchange, limits);
      auth.recheck(caller);
      const input = { id, body, rights: rightsOf(caller), by: caller.record.name };
      exchange.respond(jsonResponse(JSON.stringify(await control.call('replaceRule', input))));
    },
    async 'DELETE /api/rules/{id}'(exchange, caller, [id = '']) {
      const input = { id, rights: rightsOf(caller), by: caller.record.name };
      await control.call('removeRule', input);
      exchange.respond(emptyResponse(204));
    },
  };
}
