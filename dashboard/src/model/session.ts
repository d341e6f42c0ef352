// Runs in tabs. Owns who is signed in, and this tab's link to the hub.

import { signal } from '@preact/signals';
import { ApiError, DroverClient } from '../../../src/client/index.js';
import { type Link, openLink } from '../hub/link.js';
import type { Inheritance, ToTab } from '../hub/messages.js';
import { forgetAll, keptHere, takeUpdate } from './live.js';
import { replace } from './route.js';

export type Session =
  | { state: 'starting' }
  | { state: 'out'; reason: string | null }
  | { state: 'in'; token: string };

const KEY = 'drover.token';

export const session = signal<Session>({ state: 'starting' });
const nobody = new DroverClient({ url: location.origin });
let client = nobody;
let link: Link | undefined;

/** The API with the token of whoever is signed in. */
export function api(): DroverClient {
  return client;
}

/** Begins: with the token of the address, that of the last time, or that of the other tabs. */
export async function startSession(): Promise<void> {
  // A page that is open already is given another one.
  window.addEventListener('hashchange', () => {
    if (location.hash.startsWith('#token=')) location.reload();
  });
  const handed = takeFromAddress();
  if (handed !== undefined) return startWith(handed);
  openHub(kept());
}

/** `#token=…`, as an embedded webview gives it. It leaves the address before anything else happens. */
function takeFromAddress(): string | undefined {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const token = parameters.get('token');
  if (token === null) return undefined;
  // What was not percent-encoded has its plus signs as spaces now.
  const fixed = token.replaceAll(' ', '+');
  replace(parameters.get('to') ?? '#/overview');
  return fixed;
}

async function startWith(token: string): Promise<void> {
  try {
    const info = await nobody.withToken(token).apiInfo();
    keep(info.token, false);
    openHub(info.token);
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.isPassing) {
      // Nobody there yet; the stream goes on trying.
      keep(token, false);
      return openHub(token);
    }
    openHub(null, 'The token that this page was opened with is not accepted.');
  }
}

/** @param reason why there is no token. */
function openHub(token: string | null, reason: string | null = null): void {
  const hello = (): void => link?.send({ type: 'hello', token: tokenNow() ?? token });
  link = openLink((message) => receive(message, reason), hello, inheritance);
  hello();
  window.addEventListener('pagehide', () => link?.send({ type: 'bye' }));
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) hello();
  });
}

function inheritance(): Inheritance | undefined {
  const token = tokenNow();
  return token === null ? undefined : { token, ...keptHere() };
}

function tokenNow(): string | null {
  return session.value.state === 'in' ? session.value.token : null;
}

function receive(message: ToTab, reason: string | null): void {
  if (message.type === 'session') {
    const { token } = message;
    if (token === tokenNow() && token !== null) return;
    forgetAll();
    client = token === null ? nobody : nobody.withToken(token);
    if (token === null) {
      // Also when another tab has signed out.
      if (session.value.state === 'in' || message.reason !== null) forgetToken();
      session.value = { state: 'out', reason: message.reason ?? reason };
    } else {
      session.value = { state: 'in', token };
    }
    return;
  }
  // With the next frame: a tab that is not seen has none, takes nothing, and holds nobody up.
  requestAnimationFrame(() => {
    takeUpdate(message.update);
    link?.send({ type: 'taken' });
  });
}

/** @param isKept beyond this tab's life. @throws ApiError 401 wrong PIN, 429 locked. */
export async function signIn(pin: string, isKept: boolean): Promise<void> {
  const token = await nobody.exchangePin(pin);
  keep(token, isKept);
  link?.send({ type: 'hello', token });
}

/** Revokes the token. @throws ApiError when that did not work; it is forgotten here all the same. */
export async function signOut(): Promise<void> {
  const leaving = client;
  forgetToken();
  try {
    await leaving.tokens.revokeCurrent();
  } finally {
    link?.send({ type: 'sign-out' });
  }
}

/** Tries the stream again at once. */
export function retryNow(): void {
  link?.send({ type: 'retry' });
}

function kept(): string | null {
  try {
    return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keep(token: string, isKept: boolean): void {
  try {
    sessionStorage.setItem(KEY, token);
    if (isKept) localStorage.setItem(KEY, token);
    else localStorage.removeItem(KEY);
  } catch {
    // Not allowed: it lives as long as the tab.
  }
}

function forgetToken(): void {
  try {
    sessionStorage.removeItem(KEY);
    localStorage.removeItem(KEY);
  } catch {
    // Nor was it kept.
  }
}
