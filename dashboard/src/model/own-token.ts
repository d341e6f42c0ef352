// Runs in tabs. Owns the scopes of the session's token.

import { effect, signal } from '@preact/signals';
import type { Scope, TokenInfo } from '../../../src/client/index.js';
import { connection } from './live.js';
import { api, session } from './session.js';

const ownToken = signal<TokenInfo | undefined>(undefined);

/** Whether the session's token has this scope. True until that is known: the service checks each request. */
export function may(scope: Scope): boolean {
  const { value: token } = ownToken;
  return token === undefined || token.scopes.includes(scope) || token.scopes.includes('admin');
}

effect(() => {
  const { value: now } = session;
  if (now.state !== 'in') {
    ownToken.value = undefined;
    return;
  }
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
