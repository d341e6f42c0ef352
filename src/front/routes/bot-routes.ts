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
import { hasLabels } from '../../shared/contract/labels.js';
import { hasEnded, MAX_PARALLEL } from '../../shared/contract/operation-bounds.js';
import type { OperationOptions } from '../../shared/contract/operations.js';
import { reaches } from '../../shared/contract/rights.js';
import type { GuardedRoute } from '../../shared/contract/routes/table.js';
import type { OperationActor } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import { noKind } from '../../shared/no-bot.js';
import { type BotTest, botTest } from '../../shared/query/bot-query.js';
import { selectionOf } from '../../shared/query/selection.js';
import { type Authenticator, type Caller, originOf, rightsOf } from '../access/auth.js';
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

const WAIT_NEEDS_LINES = 'wait is for many bots: send them as application/x-ndjson';
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
  /** Ids that are given are asked for even when there is no such bot: main says so. */
  const selected = async (
    { ids, labels, query }: BotActionsBody,
    { record: { id: token, reach } }: Caller,
    gone: AbortSignal,
  ): Promise<string[]> => {
    if (labels === undefined && query === undefined) return [...new Set(ids)];
    const matches = botTest(selectionOf([['query', query]], 'bots'));
    let found = new Set<string>();
    await views.whenCurrent(views.default, async (snapshots) => {
      const test: BotTest = (bot, now) =>
        reaches(reach, bot.id, bot.labels) &&
        (labels === undefined || hasLabels(bot.labels, labels)) &&
        matches(bot, now);
      found = await findBots(snapshots, test, token, gone);
    });
    return ids === undefined ? [...found] : [...new Set(ids)].filter((id) => found.has(id));
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
    async 'POST /api/bots'(exchange, caller, { body, lines: read, query, activity }) {
      if (read) {
        const by = actorOf(caller, exchange);
        const { values: bots, numbers: lines, faults } = await read();
        const { wait: wait_ms = null } = query;
        const input = { bots, lines, faults, wait_ms, rights: rightsOf(caller), by };
        activity.isForMany = true;
        const answer = await control.cancellableCall('createMany', input, exchange.gone());
        activity.isTold = true;
        const json = JSON.stringify(answer);
        return exchange.respond(jsonResponse(json, hasEnded(answer.operation) ? 201 : 202));
      }
      if (query.wait !== undefined) throw new DroverError('bad_request', WAIT_NEEDS_LINES);
      const bot = await body();
      activity.bots.set(bot.id, null);
      const elsewhere = await control.call('createBot', { bot, rights: rightsOf(caller) });
      await respondWithBot(exchange, caller, bot.id, elsewhere, 201);
    },
    async 'POST /api/bots/actions'(exchange, caller, { body, query, activity }) {
      const by = actorOf(caller, exchange);
      const actions = await body();
      const { action } = actions;
      activity.name = `bot.${action}`;
      activity.isForMany = true;
      const gone = exchange.gone();
      const ids = await selected(actions, caller, gone);
      auth.recheck(caller);
      const options = optionsOf(actions);
      const { wait: wait_ms = null } = query;
      const input = { ids, options, wait_ms, rights: rightsOf(caller), by };
      const { operation, results } = isEnding(action)
        ? await control.cancellableCall('endMany', { ...input, action }, gone)
        : await control.cancellableCall('actOnMany', { ...input, action }, gone);
      activity.isTold = true;
      if (!results) return exchange.respond(jsonResponse(JSON.stringify({ operation }), 202));
      if (action === 'delete') await catchUp.gone(deleted(results));
      await mirror.whenCurrent(() => {
        const answer = { results: bots.withStatuses(results), operation };
        exchange.respond(jsonResponse(JSON.stringify(answer)));
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

function optionsOf({ parallel, stagger_ms, max_failed }: BotActionsBody): OperationOptions {
  return {
    parallel: parallel ?? MAX_PARALLEL,
    stagger_ms: stagger_ms ?? 0,
    max_failed: max_failed ?? null,
  };
}

/** Before the first await: it reads headers. */
function actorOf({ record: { name, id: token } }: Caller, exchange: Exchange): OperationActor {
  return { name, token, ...originOf(exchange) };
}

function isEnding(action: BotAction): action is EndingAction {
  return action === 'stop' || action === 'delete';
}
