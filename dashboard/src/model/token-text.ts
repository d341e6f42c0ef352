// What a token is, in words.

import type { ClientPlace, TokenInfo } from '../../../src/client/index.js';
import { t } from '../texts/text.js';

/** Whether somebody has signed in with it, with the PIN or a link: it is then of one browser, and ends with the sign-out. */
export function isSignIn({ by_pin, created_by }: TokenInfo): boolean {
  return by_pin || created_by?.how === 'link';
}

/** `Firefox on Linux, 192.0.2.7`. */
export function clientText({ client, address }: ClientPlace): string {
  return client === null ? address : `${client}, ${address}`;
}

/** Null when it is not known. */
export function creatorText({ created_by: by }: TokenInfo): string | null {
  if (by === null) return null;
  switch (by.how) {
    case 'pin':
      return t('token.byPin');
    case 'token':
      return t('token.by', { name: by.name ?? by.token ?? '?' });
    case 'link':
      return t('token.byLink', { name: by.name ?? by.token ?? '?' });
    case 'data_dir':
      return t('token.local');
  }
}
