// Runs in tabs. Owns who is signed in, and this tab's link to the hub.

import { signal } from '@preact/signals';
import { ApiError, DroverClient } from '../../../src/client/index.js';
import { type Link, openLink } from '../hub/link.js';
import type { Inheritance, ToTab } from '../hub/messages.js';
import { clearToasts } from '../parts/toasts.js';
import { forgetToken, keepToken, keepTokenHere, keptToken, longKeptToken } from './kept-token.js';
import { forgetAll, keptHere, takeUpdate } from './live.js';
import { replace } from './route.js';
import { forgetTable } from './table.js';

export type Session =
  | { state: 'starting' }
  | { state: 'out'; reason: string | null }
  | { state: 'in'; token: string };

/** How long a page that begins, and somebody who signs out, waits for the service, in ms: a network may swallow everything. */
const ANSWER_MS = 5000;

export const session = signal<Session>({ state: 'starting' });
const nobody = new DroverClient({ url: location.origin });
let client = nobody;
let link: Link | undefined;

/** The API with the token of whoever is signed in. */
export function api(): DroverClient {
  return client;
}

/** What the tab comes to the hub with. */
interface Offer {
  token: string | null;
  /** It was just given or made, and is good. */
  isNew: boolean;
  /** Why there is none. */
  reason?: string;
}

/** Until the hub has answered: after that it is the hub that knows who is signed in. */
let offer: Offer | undefined;

/** Begins: with the token of the address, that of the last time, or that of the other tabs. */
export async function startSession(): Promise<void> {
  // A page that is open already is given another one.
  window.addEventListener('hashchange', () => {
    if (location.hash.startsWith('#token=')) location.reload();
  });
  const handed = takeFromAddress();
  const before = longKeptToken();
  const first = handed === undefined ? { token: keptToken(), isNew: false } : await tried(handed);
  link = openLink({ receive, renewed: hello, inheritance });
  comeWith(first);
  if (first.isNew) forgo(before, first.token);
  window.addEventListener('pagehide', () => link?.send({ type: 'bye' }));
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) hello();
  });
}

/** `#token=…`, as an embedded webview gives it. It leaves the address before anything else happens. */
function takeFromAddress(): string | undefined {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const token = parameters.get('token');
  if (token === null) return undefined;
  // What was not percent-encoded has its plus signs as spaces now.
  const fixed = token.replaceAll(' ', '+');
  // A place of this page only: the browser takes no other, and says so with an error.
  const to = parameters.get('to') ?? '';
  replace(to.startsWith('#/') ? to : '#/overview');
  return fixed;
}

async function tried(token: string): Promise<Offer> {
  try {
    await nobody.withToken(token).apiInfo({ signal: AbortSignal.timeout(ANSWER_MS) });
  } catch (thrown) {
    const isRefused = thrown instanceof ApiError && !thrown.isPassing;
    // Nobody there yet, who could say whether it is good; the stream goes on trying.
    if (!isRefused) return { token, isNew: false };
    const reason = 'The token that this page was opened with is not accepted.';
    return { token: null, isNew: false, reason };
  }
  keepToken(token, false);
  return { token, isNew: true };
}

function comeWith(next: Offer): void {
  offer = next;
  hello();
}

function hello(): void {
  const { token, isNew } = offer ?? { token: tokenNow(), isNew: false };
  link?.send({ type: 'hello', token, isNew });
}

function inheritance(): Inheritance | undefined {
  const token = tokenNow();
  return token === null ? undefined : { token, ...keptHere() };
}

function tokenNow(): string | null {
  return session.value.state === 'in' ? session.value.token : null;
}

function receive(message: ToTab): void {
  if (message.type === 'session') {
    const reason = message.reason ?? offer?.reason ?? null;
    offer = undefined;
    become(message.token, reason);
    return;
  }
  if (message.type === 'ping') {
    link?.send({ type: 'here' });
    return;
  }
  const { value: then } = session;
  // With the next frame: a tab that is not seen has none, takes nothing, and holds nobody up.
  requestAnimationFrame(() => {
    // Not what was on its way for somebody who has gone.
    if (then.state === 'in' && session.value === then) takeUpdate(message.update);
    link?.send({ type: 'taken' });
  });
}

/** Somebody else, or nobody: nothing of what the last one saw is left. */
function become(token: string | null, reason: string | null): void {
  const { value: before } = session;
  if (before.state === 'in' && before.token === token) return;
  if (before.state === 'out' && token === null && reason === null) return;
  forgetAll();
  forgetTable();
  clearToasts();
  client = token === null ? nobody : nobody.withToken(token);
  if (token === null) {
    // What it came with is no good, or somebody has signed out, in this tab or another.
    if (before.state === 'in') forgetToken();
    session.value = { state: 'out', reason };
  } else {
    // A reload begins with what the tabs have now, and not with what this one came with.
    keepTokenHere(token);
    session.value = { state: 'in', token };
  }
}

/** @param isKept beyond this tab's life. @throws ApiError 401 wrong PIN, 429 locked. */
export async function signIn(pin: string, isKept: boolean): Promise<void> {
  const token = await nobody.exchangePin(pin);
  const before = keptToken();
  keepToken(token, isKept);
  comeWith({ token, isNew: true });
  forgo(before, token);
}

/** Revokes a token that another has taken the place of: nobody could sign it out any more. */
function forgo(before: string | null, token: string | null): void {
  if (before === null || token === null || before === token) return;
  nobody
    .withToken(before)
    .tokens.revokeCurrent()
    .catch(() => {
      // It was not good any more, most likely; the list of tokens has it if it is.
    });
}

/** Revokes the token. @throws Error when that did not work; it is forgotten here all the same. */
export async function signOut(): Promise<void> {
  const leaving = client;
  forgetToken();
  try {
    await leaving.tokens.revokeCurrent({ signal: AbortSignal.timeout(ANSWER_MS) });
  } finally {
    link?.send({ type: 'sign-out' });
    // At once, so that what is said of it afterwards stays.
    become(null, null);
  }
}

/** Tries the stream again at once. */
export function retryNow(): void {
  link?.send({ type: 'retry' });
}
