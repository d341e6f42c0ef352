import type { Dispatcher } from '../../shared/commands/dispatcher.js';
import type { InvokeOutput } from '../../shared/contract/api.js';
import type {
  ActionResults,
  BotAction,
  BotActionsBody,
  EndingAction,
} from '../../shared/contract/bots.js';
import type { BotSnapshot } from '../../shared/contract/events.js';
import type { JsonObject } from '../../shared/contract/json.js';
import type { GuardedRoute } from '../../shared/contract/routes/table.js';
import type { Rights } from '../../shared/contract/tokens.js';
import { noKind } from '../../shared/no-bot.js';
import { botTest } from '../../shared/query/bot-query.js';
import { selectionOf } from '../../shared/query/selection.js';
import { type Authenticator, type Caller, rightsOf } from '../access/auth.js';
import { shownBot } from '../bots/bot-list.js';
import { findBots } from '../bots/bot-selection.js';
import type { Exchange } from '../engine/engine.js';
import { emptyResponse, jsonResponse } from '../engine/responses.js';
import type { CallerHandler, CallerHandlers } from '../table/handlers.js';
import { ClusterCatchUp } from '../views/cluster-catch-up.js';
import type { Views } from '../views/views.js';
import type { Control } from './control.js';

export interface BotRoutesParts {
  auth: Pick<Authenticator, 'recheck'>;
  control: Control;
  dispatcher: Pick<Dispatcher, 'invoke'>;
  views: Pick<Views, 'self' | 'default' | 'cluster' | 'isCurrent' | 'of' | 'whenCurrent'>;
}

/** Commands of the service that change nothing. */
const READING: ReadonlySet<string> = new Set(['ping', 'status']);

type BotRoutes = Exclude<
  Extract<
    GuardedRoute,
    | `${string} /api/bots${string}`
    | `${string} /api/${'hosts' | 'kinds' | 'pressure'}`
    | `${string} /api/kinds/${string}`
    | 'POST /invoke'
  >,
  // These routes are in history-routes.ts and incident-routes.ts.
  'GET /api/bots/{id}/history' | 'GET /api/bots/{id}/incidents'
>;

export function botRoutes(parts: BotRoutesParts): CallerHandlers<BotRoutes> {
  const { auth, control, dispatcher, views } = parts;
  // Main answers when the node's own stream shows the change; the stream of the cluster shows it later.
  const { mirror, bots } = views.self;
  const catchUp = new ClusterCatchUp(views);

  const respondWithBot = (
    exchange: Exchange,
    { record: { reach } }: Caller,
    id: string,
    elsewhere: BotSnapshot | null,
    status = 200,
  ): void | Promise<void> => {
    const respond = (): void => {
      const json = elsewhere ? shownBot(elsewhere, reach) : bots.one(id, reach);
      exchange.respond(jsonResponse(json, status));
    };
    if (views.cluster) return respondLater(id, elsewhere, respond);
    return mirror.whenCurrent(respond);
  };
  /** Waits in a cluster until its stream shows the bot too. */
  const respondLater = async (
    id: string,
    elsewhere: BotSnapshot | null,
    respond: () => void,
  ): Promise<void> => {
    await mirror.whenCurrent(() => {});
    const snapshot = elsewhere ?? mirror.get(id)?.snapshot;
    if (snapshot) await catchUp.bot(snapshot);
    await mirror.whenCurrent(respond);
  };
  /** Has no body; responds with the bot's snapshot when the operation is done. */
  const act =
    <A extends 'start' | 'stop' | 'restart'>(
      action: A,
    ): CallerHandler<`POST /api/bots/{id}/${A}`> =>
    async (exchange, caller, { path: [id] }) => {
      const rights = rightsOf(caller);
      const elsewhere = isEnding(action)
        ? await control.call('endBot', { id, action, rights })
        : await control.call('actOnBot', { id, action, rights });
      await respondWithBot(exchange, caller, id, elsewhere);
    };
  const actOnMany = (actions: BotActionsBody, rights: Rights): Promise<ActionResults> => {
    const { action } = actions;
    return isEnding(action)
      ? control.call('endBots', { actions: { ...actions, action }, rights })
      : control.call('actOnBots', { actions, rights });
  };
  return {
    'GET /api/bots'(exchange, caller, { query }) {
      const { id: token, reach } = caller.record;
      const view = views.of(query);
      const selection = selectionOf(Object.entries(query), 'bots');
      const gone = selection.length > 0 ? exchange.gone() : undefined;
      return views.whenCurrent(view, async (bots) => {
        let selected: Set<string> | undefined;
        if (selection.length > 0) {
          selected = await findBots(bots, botTest(selection), token, gone);
          auth.recheck(caller);
        }
        exchange.respond(jsonResponse(view.bots.list(query, reach, bots, selected)));
      });
    },
    async 'POST /api/bots'(exchange, caller, { body, activity }) {
      const bot = await body();
      activity.bots.set(bot.id, null);
      const elsewhere = await control.call('createBot', { bot, rights: rightsOf(caller) });
      await respondWithBot(exchange, caller, bot.id, elsewhere, 201);
    },
    async 'POST /api/bots/actions'(exchange, caller, { body, activity }) {
      const actions = await body();
      activity.name = `bot.${actions.action}`;
      activity.isForMany = true;
      const { results } = await actOnMany(actions, rightsOf(caller));
      for (const [id, outcome] of Object.entries(results)) {
        activity.bots.set(id, 'error' in outcome ? outcome.error : null);
      }
      if (actions.action === 'delete') await catchUp.gone(deleted(results));
      await mirror.whenCurrent(() => {
        exchange.respond(jsonResponse(JSON.stringify({ results: bots.withStatuses(results) })));
      });
    },
    'GET /api/bots/{id}'(exchange, { record }, { path: [id], query }) {
      const view = views.of(query);
      return views.whenCurrent(view, (bots) =>
        exchange.respond(jsonResponse(view.bots.one(id, record.reach, bots))),
      );
    },
    async 'PATCH /api/bots/{id}'(exchange, caller, { path: [id], body, activity }) {
      const input = { id, change: await body(), rights: rightsOf(caller) };
      const { elsewhere, change } = await control.call('updateBot', input);
      if (change) activity.detail = { change };
      await respondWithBot(exchange, caller, id, elsewhere);
    },
    async 'DELETE /api/bots/{id}'(exchange, caller, { path: [id], query: { node } }) {
      const input = { id, action: 'delete', rights: rightsOf(caller) } as const;
      await control.call('endBot', node === undefined ? input : { ...input, node });
      // Does not wait for a leftover of one node: the cluster may have another bot with its id.
      if (node === undefined) await catchUp.gone([id]);
      exchange.respond(emptyResponse(204));
    },
    'POST /api/bots/{id}/start': act('start'),
    'POST /api/bots/{id}/stop': act('stop'),
    'POST /api/bots/{id}/restart': act('restart'),
    async 'POST /api/bots/{id}/move'(exchange, caller, { path: [id], body, activity }) {
      const { node } = await body();
      activity.target = node;
      const moving = await control.call('moveBot', { id, node, rights: rightsOf(caller) });
      exchange.respond(jsonResponse(JSON.stringify(moving)));
    },
    async 'GET /api/bots/{id}/config'(exchange, caller, { path: [id] }) {
      const config = await control.call('botConfig', { id, rights: rightsOf(caller) });
      exchange.respond(jsonResponse(JSON.stringify(config)));
    },
    async 'GET /api/kinds'(exchange, caller) {
      const list = await control.call('kinds', { rights: rightsOf(caller) });
      exchange.respond(jsonResponse(JSON.stringify(list)));
    },
    async 'GET /api/kinds/{kind}'(exchange, caller, { path: [kind] }) {
      const { kinds } = await control.call('kinds', { rights: rightsOf(caller) });
      const found = kinds.find((one) => one.kind === kind);
      if (!found) throw noKind(kind);
      exchange.respond(jsonResponse(JSON.stringify(found)));
    },
    async 'POST /api/kinds/reload'(exchange, caller) {
      const output = await control.call('reloadKinds', { kind: null, rights: rightsOf(caller) });
      exchange.respond(jsonResponse(JSON.stringify(output)));
    },
    async 'POST /api/kinds/{kind}/reload'(exchange, caller, { path: [kind] }) {
      const output = await control.call('reloadKinds', { kind, rights: rightsOf(caller) });
      exchange.respond(jsonResponse(JSON.stringify(output)));
    },
    async 'POST /api/kinds/{kind}/release'(exchange, caller, { path: [kind] }) {
      const output = await control.call('releaseKind', { kind, rights: rightsOf(caller) });
      exchange.respond(jsonResponse(JSON.stringify(output)));
    },
    async 'GET /api/hosts'(exchange, caller) {
      const list = await control.call('hosts', { rights: rightsOf(caller) });
      exchange.respond(jsonResponse(JSON.stringify(list)));
    },
    async 'GET /api/pressure'(exchange) {
      const report = await control.call('pressure', null);
      const status = report.short.length > 0 ? 503 : 200;
      exchange.respond(jsonResponse(JSON.stringify(report), status));
    },
    async 'POST /invoke'(exchange, caller, { body: read, activity }) {
      const body = await read();
      const { session_id: target } = body;
      activity.isReading = target === null && READING.has(body.command);
      activity.detail = { command: body.command };
      activity.isForMany = Array.isArray(target);
      for (const id of target === null ? [] : [target].flat()) activity.bots.set(id, null);
      const rights = rightsOf(caller);
      const call = { ...body, args: body.args as JsonObject };
      const askMain = (of: string | string[] | null): Promise<InvokeOutput> => {
        const input = { call: { ...call, session_id: of }, rights };
        return control.cancellableCall('invoke', input, exchange.gone());
      };
      const output =
        target === null
          ? JSON.stringify(await askMain(null))
          : await dispatcher.invoke({
              call: { ...call, session_id: target },
              rights,
              client: exchange,
              failed: (bot, error) => activity.bots.set(bot, error),
              elsewhere: askMain,
            });
      exchange.respond(jsonResponse(output));
    },
  };
}

function deleted(results: ActionResults['results']): string[] {
  return Object.keys(results).filter((id) => !('error' in (results[id] ?? {})));
}

function isEnding(action: BotAction): action is EndingAction {
  return action === 'stop' || action === 'delete';
}
