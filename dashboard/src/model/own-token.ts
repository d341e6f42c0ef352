// Runs in tabs. Owns the description of the session's token.

import { effect, signal } from '@preact/signals';
import type { Scope, TokenInfo } from '../../../src/client/index.js';
import { bots, connection } from './live.js';
import { api, type Session, session } from './session.js';

/** Undefined until it is known. */
export const ownToken = signal<TokenInfo | undefined>(undefined);

/** Whether the session's token has this scope. True until that is known: the service checks each request. */
export function may(scope: Scope): boolean {
  const { value: token } = ownToken;
  return token === undefined || token.scopes.includes(scope) || token.scopes.includes('admin');
}

/** Whether the session's token can use this page. True until that is known, as in {@link may}. */
export function mayOpen(page: string): boolean {
  if (page === 'tokens') return may('admin');
  return page !== 'runs' || isUnlimited();
}

/** Whether the session's token is about all bots, as rules and recordings are. True until that is known. */
export function isUnlimited(): boolean {
  return ownToken.value?.bots == null && ownToken.value?.labels == null;
}

/** Whether the session's token may create a bot: one that is limited to ids, while one of them has no bot. */
export function mayCreate(): boolean {
  const ids = ownToken.value?.bots;
  return may('control') && (ids == null || ids.some((id) => !bots.has(id)));
}

let asked: Session | undefined;

effect(() => {
  const { value: now } = session;
  // Also from one token to another, without a sign-out between them.
  if (now !== asked) ownToken.value = undefined;
  asked = now;
  if (now.state !== 'in') return;
  if (connection.value.state !== 'open' || ownToken.peek() !== undefined) return;
  api()
    .tokens.current()
    .then(
      (token) => {
        if (session.value === now) ownToken.value = token;
      },
      () => {
        // The next connection retries.
      },
    );
});
