import { type Authenticator, placeOf } from '../access/auth.js';
import type { PinExchange } from '../access/pin-exchange.js';
import type { PinPages } from '../access/pin-pages.js';
import type { TokenUses } from '../access/token-uses.js';
import { FREE_BYTES } from '../engine/body-room.js';
import { emptyResponse, secretResponse } from '../engine/responses.js';
import { type BodyLimits, jsonBody } from '../http/json-body.js';
import type { Handlers } from '../table/handlers.js';
import type { Control } from './control.js';

export interface AuthRoutesParts {
  auth: Pick<Authenticator, 'recheck'>;
  control: Control;
  limits: BodyLimits;
  pin: Pick<PinExchange, 'check'>;
  pinPages: Pick<PinPages, 'check'>;
  uses: Pick<TokenUses, 'flush'>;
  /** The port that clients use. */
  port: () => number;
}

type AuthRoutes =
  | 'POST /auth/pin'
  | 'POST /auth/link'
  | 'POST /auth/link/check'
  | 'POST /auth/ticket'
  | 'GET /api-info'
  | 'GET /api/tokens'
  | 'POST /api/tokens'
  | 'POST /api/tokens/link'
  | 'GET /api/tokens/current'
  | 'DELETE /api/tokens/current'
  | 'DELETE /api/tokens/{id}';

export function authRoutes(parts: AuthRoutesParts): Pick<Handlers, AuthRoutes> {
  const { auth, control, limits } = parts;
  const readPin = jsonBody('PinBody');
  const readLink = jsonBody('LinkBody');
  // No token is needed to send a PIN or a link, so they take nothing of the shared room for bodies.
  const openLimits: BodyLimits = { ...limits, maxBytes: Math.min(limits.maxBytes, FREE_BYTES) };
  const readToken = jsonBody('CreateTokenBody');
  return {
    async 'POST /auth/pin'(exchange) {
      parts.pinPages.check(exchange);
      // Read before the await: the engine may have dropped them after that.
      const place = placeOf(exchange);
      const { pin } = await readPin(exchange, openLimits);
      parts.pin.check(pin, place.address);
      const { token } = await control.call('createPinToken', place);
      exchange.respond(secretResponse(JSON.stringify({ token })));
    },
    async 'POST /auth/link'(exchange) {
      const { address } = exchange;
      const link = await control.call('takeLink', await readLink(exchange, openLimits));
      const { token, info } = await control.call('createLinkToken', { link, address });
      exchange.respond(secretResponse(JSON.stringify({ token, ...info }), 201));
    },
    async 'POST /auth/link/check'(exchange) {
      const offer = await control.call('checkLink', await readLink(exchange, openLimits));
      exchange.respond(secretResponse(JSON.stringify(offer)));
    },
    async 'POST /auth/ticket'(exchange, { record }) {
      const ticket = await control.call('createTicket', { token: record.id });
      exchange.respond(secretResponse(JSON.stringify(ticket)));
    },
    'GET /api-info'(exchange, { token }) {
      exchange.respond(secretResponse(`{"port":${parts.port()},"token":${JSON.stringify(token)}}`));
    },
    async 'GET /api/tokens'(exchange, { record }) {
      // Both messages use one port, so the list has what was used here until now.
      parts.uses.flush();
      const list = await control.call('tokens', { by: record.id });
      exchange.respond(secretResponse(JSON.stringify(list)));
    },
    async 'POST /api/tokens'(exchange, caller) {
      const { address } = exchange;
      const body = await readToken(exchange, limits);
      auth.recheck(caller);
      const by = caller.record.id;
      const { token, info } = await control.call('createToken', { body, by, address });
      exchange.respond(secretResponse(JSON.stringify({ token, ...info }), 201));
    },
    async 'POST /api/tokens/link'(exchange, caller) {
      const body = await readToken(exchange, limits);
      auth.recheck(caller);
      const link = await control.call('createLink', { body, by: caller.record.id });
      exchange.respond(secretResponse(JSON.stringify(link), 201));
    },
    async 'GET /api/tokens/current'(exchange, { record: { id } }) {
      parts.uses.flush();
      exchange.respond(secretResponse(JSON.stringify(await control.call('token', { id }))));
    },
    async 'DELETE /api/tokens/current'(exchange, { record: { id } }) {
      await control.call('revokeToken', { id, by: id });
      exchange.respond(emptyResponse(204));
    },
    async 'DELETE /api/tokens/{id}'(exchange, { record }, [id = '']) {
      await control.call('revokeToken', { id, by: record.id });
      exchange.respond(emptyResponse(204));
    },
  };
}
