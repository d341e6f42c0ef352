// Runs in a front thread. Owns the routes of PINs, tokens and tickets.

import { FREE_BYTES } from './body-room.js';
import { type BodyLimits, jsonBody } from './json-body.js';
import { emptyAnswer, secretAnswer } from './responses.js';
import type { FrontParts, Handlers } from './routes.js';

type AuthRoutes =
  | 'POST /auth/pin'
  | 'POST /auth/ticket'
  | 'GET /api-info'
  | 'GET /api/tokens'
  | 'POST /api/tokens'
  | 'DELETE /api/tokens/current'
  | 'DELETE /api/tokens/{id}';

export function authRoutes(parts: FrontParts): Pick<Handlers, AuthRoutes> {
  const { auth, control, limits } = parts;
  const readPin = jsonBody('PinBody');
  // Anybody may send one: it takes nothing of the room that others' bodies share.
  const pinLimits: BodyLimits = { ...limits, maxBytes: Math.min(limits.maxBytes, FREE_BYTES) };
  const readToken = jsonBody('CreateTokenBody');
  return {
    async 'POST /auth/pin'(exchange) {
      // Read now: after the wait for the body the engine may have forgotten it.
      const { address } = exchange;
      const { pin } = await readPin(exchange, pinLimits);
      parts.pin.check(pin, address);
      const { token } = await control.call('createPinToken', { address });
      exchange.answer(secretAnswer(JSON.stringify({ token })));
    },
    async 'POST /auth/ticket'(exchange, { record }) {
      const ticket = await control.call('createTicket', { token: record.id });
      exchange.answer(secretAnswer(JSON.stringify(ticket)));
    },
    'GET /api-info'(exchange, { token }) {
      exchange.answer(secretAnswer(`{"port":${parts.port()},"token":${JSON.stringify(token)}}`));
    },
    async 'GET /api/tokens'(exchange) {
      // In order on one port: what was used here until now is in the list.
      parts.tellUses();
      exchange.answer(secretAnswer(JSON.stringify(await control.call('tokens', null))));
    },
    async 'POST /api/tokens'(exchange, caller) {
      const body = await readToken(exchange, limits);
      auth.recheck(caller);
      const by = caller.record.id;
      const { token, info } = await control.call('createToken', { body, by });
      exchange.answer(secretAnswer(JSON.stringify({ token, ...info }), 201));
    },
    async 'DELETE /api/tokens/current'(exchange, { record: { id } }) {
      await control.call('revokeToken', { id, by: id });
      exchange.answer(emptyAnswer(204));
    },
    async 'DELETE /api/tokens/{id}'(exchange, { record }, [id = '']) {
      await control.call('revokeToken', { id, by: record.id });
      exchange.answer(emptyAnswer(204));
    },
  };
}
