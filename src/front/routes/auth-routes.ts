import type { CreateTokenBody } from '../../shared/contract/tokens.js';
import { type Authenticator, originOf } from '../access/auth.js';
import type { PinExchange } from '../access/pin-exchange.js';
import type { PinPages } from '../access/pin-pages.js';
import type { TokenUses } from '../access/token-uses.js';
import { emptyResponse, secretResponse } from '../engine/responses.js';
import type { Activity } from '../table/activities.js';
import type { CallerHandlers, OpenHandlers } from '../table/handlers.js';
import type { Control } from './control.js';

export interface AuthRoutesParts {
  auth: Pick<Authenticator, 'nameOf'>;
  control: Control;
  pin: Pick<PinExchange, 'check'>;
  pinPages: Pick<PinPages, 'check'>;
  uses: Pick<TokenUses, 'flush'>;
  /** The port that clients use. */
  port: () => number;
}

type OpenAuthRoutes = 'POST /auth/pin' | 'POST /auth/link' | 'POST /auth/link/check';
type AuthRoutes =
  | 'POST /auth/ticket'
  | 'GET /api-info'
  | 'GET /api/tokens'
  | 'POST /api/tokens'
  | 'POST /api/tokens/link'
  | 'GET /api/tokens/current'
  | 'DELETE /api/tokens/current'
  | 'DELETE /api/tokens/{id}';

/** Routes that give a token. */
export function signInRoutes(parts: AuthRoutesParts): OpenHandlers<OpenAuthRoutes> {
  const { control } = parts;
  return {
    async 'POST /auth/pin'(exchange, { body, activity }) {
      parts.pinPages.check(exchange);
      // Reads the headers before the await, because the engine may drop them after that.
      const place = originOf(exchange);
      const { pin, name } = await body();
      parts.pin.check(pin, place.address);
      const { token, info } = await control.call('createPinToken', { ...place, name });
      activity.signedIn(info.name, info.id);
      exchange.respond(secretResponse(JSON.stringify({ token })));
    },
    async 'POST /auth/link'(exchange, { body, activity }) {
      const { address } = exchange;
      const link = await control.call('takeLink', await body());
      const { token, info } = await control.call('createLinkToken', { link, address });
      activity.signedIn(info.name, info.id);
      exchange.respond(secretResponse(JSON.stringify({ token, ...info }), 201));
    },
    async 'POST /auth/link/check'(exchange, { body }) {
      const offer = await control.call('checkLink', await body());
      exchange.respond(secretResponse(JSON.stringify(offer)));
    },
  };
}

export function authRoutes(parts: AuthRoutesParts): CallerHandlers<AuthRoutes> {
  const { control } = parts;
  return {
    async 'POST /auth/ticket'(exchange, { record }) {
      const ticket = await control.call('createTicket', { token: record.id });
      exchange.respond(secretResponse(JSON.stringify(ticket)));
    },
    'GET /api-info'(exchange, { token }) {
      exchange.respond(secretResponse(`{"port":${parts.port()},"token":${JSON.stringify(token)}}`));
    },
    async 'GET /api/tokens'(exchange, { record }) {
      // Messages on a port keep their order, so the list includes the uses that were flushed just before.
      parts.uses.flush();
      const list = await control.call('tokens', { by: record.id });
      exchange.respond(secretResponse(JSON.stringify(list)));
    },
    async 'POST /api/tokens'(exchange, { record: { id: by } }, call) {
      const { address } = exchange;
      const body = await call.body();
      grants(call.activity, body);
      const { token, info } = await control.call('createToken', { body, by, address });
      exchange.respond(secretResponse(JSON.stringify({ token, ...info }), 201));
    },
    async 'POST /api/tokens/link'(exchange, { record: { id: by } }, call) {
      const body = await call.body();
      grants(call.activity, body);
      const link = await control.call('createLink', { body, by });
      exchange.respond(secretResponse(JSON.stringify(link), 201));
    },
    async 'GET /api/tokens/current'(exchange, { record: { id } }) {
      parts.uses.flush();
      exchange.respond(secretResponse(JSON.stringify(await control.call('token', { id }))));
    },
    async 'DELETE /api/tokens/current'(exchange, { record: { id, name } }, { activity }) {
      activity.target = name;
      await control.call('revokeToken', { id, by: id });
      exchange.respond(emptyResponse(204));
    },
    async 'DELETE /api/tokens/{id}'(exchange, { record }, { path: [id], activity }) {
      activity.target = parts.auth.nameOf(id) ?? id;
      await control.call('revokeToken', { id, by: record.id });
      exchange.respond(emptyResponse(204));
    },
  };
}

/** What a new token, or a sign-in link, is for. */
function grants(activity: Activity, { name, scopes }: CreateTokenBody): void {
  activity.target = name;
  activity.detail = { scopes };
}
