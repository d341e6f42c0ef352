import type { GuardedRoute } from '../../shared/contract/routes/table.js';
import { botTest } from '../../shared/query/bot-query.js';
import { selectionOf } from '../../shared/query/selection.js';
import { type Authenticator, rightsOf } from '../access/auth.js';
import { findBots } from '../bots/bot-selection.js';
import { jsonResponse } from '../engine/responses.js';
import type { CallerHandlers } from '../table/handlers.js';
import type { Views } from '../views/views.js';
import type { Control } from './control.js';

export interface FleetRoutesParts {
  auth: Pick<Authenticator, 'recheck'>;
  control: Control;
  views: Pick<Views, 'self'>;
}

type FleetRoutes = Extract<GuardedRoute, `${string} /api/fleet${string}`>;

export function fleetRoutes({
  auth,
  control,
  views,
}: FleetRoutesParts): CallerHandlers<FleetRoutes> {
  const { mirror } = views.self;
  return {
    async 'GET /api/fleet'(exchange, caller, { query }) {
      const selection = selectionOf(Object.entries(query), 'bots');
      const gone = exchange.gone();
      await mirror.whenCurrent(() => {});
      const found = await findBots(mirror, botTest(selection), caller.record.id, gone);
      auth.recheck(caller);
      const exported = await control.call('exportBots', {
        ids: [...found],
        rights: rightsOf(caller),
      });
      exchange.respond(jsonResponse(JSON.stringify(exported)));
    },
    async 'POST /api/fleet/{name}'(exchange, caller, { path: [fleet], body: read, activity }) {
      const body = await read();
      activity.isReading = body.dry_run;
      activity.isForMany = true;
      const { name, id: token } = caller.record;
      const input = { fleet, body, rights: rightsOf(caller), by: { name, token } };
      const plan = await control.call('applyFleet', input);
      activity.operation = plan.operation;
      activity.isReading ||= plan.steps.length === 0;
      for (const { id, error = null } of plan.steps) activity.bots.set(id, error);
      await mirror.whenCurrent(() => exchange.respond(jsonResponse(JSON.stringify(plan))));
    },
  };
}
