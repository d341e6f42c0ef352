// Runs in a front thread. Owns the routes of bots: what they show, and what can be done with them.

import type { BotAction } from '../shared/contract/bots.js';
import type { JsonObject } from '../shared/contract/events.js';
import type { INCIDENTS_QUERY } from '../shared/contract/queries.js';
import type { Rights } from '../shared/contract/tokens.js';
import type { SchemaName, SchemaValue } from '../shared/schemas.js';
import type { Caller } from './auth.js';
import { BotList } from './bot-list.js';
import type { Exchange } from './engine/engine.js';
import type { CallerHandler } from './front.js';
import { jsonBody } from './json-body.js';
import { queryValues, readLimit } from './query-string.js';
import { emptyAnswer, jsonAnswer } from './responses.js';
import type { FrontParts, Handlers } from './routes.js';

type BotRoutes = Extract<
  keyof Handlers,
  | `${string} /api/bots${string}`
  | `${string} /api/${'incidents' | 'kinds' | 'pressure'}`
  | 'POST /invoke'
>;

export function botRoutes(parts: FrontParts): Pick<Handlers, BotRoutes> {
  const { auth, control, limits } = parts;
  const bots = new BotList(parts.mirror);

  /** A body of a caller that is still good when it has arrived. */
  const bodyOf = <S extends SchemaName>(schema: S) => {
    const read = jsonBody(schema);
    return async (exchange: Exchange, caller: Caller): Promise<SchemaValue<S>> => {
      const body = await read(exchange, limits);
      auth.recheck(caller);
      return body;
    };
  };
  const readBot = bodyOf('CreateBotBody');
  const readUpdate = bodyOf('UpdateBotBody');
  const readActions = bodyOf('BotActionsBody');
  const readInvoke = bodyOf('InvokeBody');

  const answerBot = (
    exchange: Exchange,
    caller: Caller,
    id: string,
    status = 200,
  ): void | Promise<void> =>
    parts.whenCurrent(() => {
      exchange.answer(jsonAnswer(bots.one(id, caller.record.reach), status));
    });
  /** An operation on one bot; it takes no body, and answers with the snapshot when it is done. */
  const act =
    (action: BotAction): CallerHandler =>
    async (exchange, caller, [id = '']) => {
      await control.call('actOnBot', { id, action, rights: rightsOf(caller) });
      await answerBot(exchange, caller, id);
    };
  const answerIncidents = async (
    exchange: Exchange,
    caller: Caller,
    bot: string | null,
  ): Promise<void> => {
    const name: keyof typeof INCIDENTS_QUERY = 'limit';
    const limit = readLimit(queryValues(exchange.query, name)[0]);
    const output = await control.call('incidents', { bot, limit, rights: rightsOf(caller) });
    exchange.answer(jsonAnswer(JSON.stringify(output)));
  };

  return {
    'GET /api/bots'(exchange, { record }) {
      const { query } = exchange;
      return parts.whenCurrent(() => exchange.answer(jsonAnswer(bots.list(query, record.reach))));
    },
    async 'POST /api/bots'(exchange, caller) {
      const bot = await readBot(exchange, caller);
      await control.call('createBot', { bot, rights: rightsOf(caller) });
      await answerBot(exchange, caller, bot.id, 201);
    },
    async 'POST /api/bots/actions'(exchange, caller) {
      const actions = await readActions(exchange, caller);
      const { results } = await control.call('actOnBots', { actions, rights: rightsOf(caller) });
      await parts.whenCurrent(() => {
        exchange.answer(jsonAnswer(JSON.stringify({ results: bots.withStatuses(results) })));
      });
    },
    'GET /api/bots/{id}': (exchange, caller, [id = '']) => answerBot(exchange, caller, id),
    async 'PATCH /api/bots/{id}'(exchange, caller, [id = '']) {
      const change = await readUpdate(exchange, caller);
      await control.call('updateBot', { id, change, rights: rightsOf(caller) });
      await answerBot(exchange, caller, id);
    },
    async 'DELETE /api/bots/{id}'(exchange, caller, [id = '']) {
      await control.call('actOnBot', { id, action: 'delete', rights: rightsOf(caller) });
      exchange.answer(emptyAnswer(204));
    },
    'POST /api/bots/{id}/start': act('start'),
    'POST /api/bots/{id}/stop': act('stop'),
    'POST /api/bots/{id}/restart': act('restart'),
    async 'GET /api/bots/{id}/config'(exchange, caller, [id = '']) {
      const config = await control.call('botConfig', { id, rights: rightsOf(caller) });
      exchange.answer(jsonAnswer(JSON.stringify(config)));
    },
    async 'GET /api/bots/{id}/incidents'(exchange, caller, [id = '']) {
      bots.one(id, caller.record.reach);
      await answerIncidents(exchange, caller, id);
    },
    'GET /api/incidents': (exchange, caller) => answerIncidents(exchange, caller, null),
    async 'GET /api/kinds'(exchange) {
      exchange.answer(jsonAnswer(JSON.stringify(await control.call('kinds', null))));
    },
    async 'GET /api/pressure'(exchange) {
      const report = await control.call('pressure', null);
      const status = report.short.length > 0 ? 503 : 200;
      exchange.answer(jsonAnswer(JSON.stringify(report), status));
    },
    async 'POST /invoke'(exchange, caller) {
      const body = await readInvoke(exchange, caller);
      const call = { ...body, args: body.args as JsonObject };
      const input = { call, rights: rightsOf(caller) };
      const output = await control.cancellableCall('invoke', input, exchange.gone());
      exchange.answer(jsonAnswer(JSON.stringify(output)));
    },
  };
}

/** The part of a caller that main decides by; the digest stays here. */
function rightsOf({ record: { scopes, reach } }: Caller): Rights {
  return { scopes, reach };
}
