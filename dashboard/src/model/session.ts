// Runs in tabs. Owns the signed-in session and this tab's link to the hub.

import { signal } from '@preact/signals';
import { ApiError, DroverClient } from '../../../src/client/index.js';
import { type Link, openLink } from '../hub/link.js';
import type { Handover, ToTab } from '../hub/messages.js';
import { serviceUrl } from '../hub/service-address.js';
import { clearToasts, sayError } from '../parts/toasts.js';
import { type PlainKey, t } from '../texts/text.js';
import { firing, notify } from './alerts.js';
import { type EventSource, recorded } from './event-source.js';
import { applyUpdate, currentState, resetState } from './live.js';
import { replace } from './route.js';
import { forgetTable } from './table.js';
import {
  forgetToken,
  persistentToken,
  storedToken,
  storeToken,
  storeTokenInTab,
} from './token-storage.js';
import { isSignIn } from './token-text.js';

export type Session =
  | { state: 'starting' }
  | { state: 'out'; reason: PlainKey | null }
  | { state: 'in'; token: string };

/** Time limit of the requests at page load and sign-out, in ms. */
const ANSWER_MS = 5000;

export const session = signal<Session>({ state: 'starting' });
/** A token from the address while another session exists. Any page can link to this one, so only the user may switch to it. */
export const handedToken = signal<string | null>(null);
/** A client without a token. */
export const stranger = new DroverClient({ url: serviceUrl() });
let client = stranger;
let link: Link | undefined;

/** The client of the current session. */
export function api(): DroverClient {
  return client;
}

/** Where the views of events read: the recording that the page shows, or the service. */
export function eventSource(): EventSource {
  return recorded.peek() ?? client;
}

/** The token that the tab offers to the hub. */
interface Offer {
  token: string | null;
  /** It was just obtained and is valid. */
  isNew: boolean;
  /** Why the token from the address was not used. */
  reason?: PlainKey;
  /** The token from the address. */
  handed?: string;
}

/** Set until the hub has answered; after that the hub decides who is signed in. */
let offer: Offer | undefined;

/** Starts with the session of other tabs, the stored token, or the one from the address: the first that exists. */
export async function startSession(): Promise<void> {
  // An open page is given another token.
  window.addEventListener('hashchange', () => {
    if (location.hash.startsWith('#token=')) location.reload();
  });
  const handed = takeFromAddress();
  const first =
    handed === undefined ? { token: storedToken(), isNew: false } : await offerWith(handed);
  link = openLink({ receive, renewed: hello, handover });
  sendOffer(first);
  window.addEventListener('pagehide', () => link?.send({ type: 'bye' }));
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) hello();
  });
}

/** `#token=…`, for embedded webviews. It is removed from the address before anything else happens. */
function takeFromAddress(): string | undefined {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const token = parameters.get('token');
  if (token === null) return undefined;
  // URLSearchParams decodes an unencoded plus sign as a space.
  const fixed = token.replaceAll(' ', '+');
  // Only an address within this page.
  const to = parameters.get('to') ?? '';
  replace(to.startsWith('#/') ? to : '#/overview');
  return fixed;
}

/** @param handed the token from the address. A session that exists has precedence over it. */
async function offerWith(handed: string): Promise<Offer> {
  const stored = storedToken();
  const [isRefused, isEnded] = await Promise.all([
    isInvalid(handed),
    stored !== null && stored !== handed && isInvalid(stored),
  ]);
  if (isEnded) forgetToken();
  const own = isEnded ? null : stored;
  if (isRefused) {
    return { token: own, isNew: false, reason: 'signIn.badAddress' };
  }
  return { token: own ?? handed, isNew: false, handed };
}

/** Whether the service refuses a token. One that does not answer yet is asked again by the stream. */
async function isInvalid(token: string): Promise<boolean> {
  try {
    await stranger.withToken(token).apiInfo({ signal: AbortSignal.timeout(ANSWER_MS) });
    return false;
  } catch (thrown) {
    return thrown instanceof ApiError && !thrown.isPassing;
  }
}

function sendOffer(next: Offer): void {
  offer = next;
  hello();
}

function hello(): void {
  const { token, isNew } = offer ?? { token: tokenNow(), isNew: false };
  link?.send({ type: 'hello', token, isNew });
}

function handover(): Handover | undefined {
  const token = tokenNow();
  return token === null ? undefined : { token, ...currentState() };
}

function tokenNow(): string | null {
  return session.value.state === 'in' ? session.value.token : null;
}

function receive(message: ToTab): void {
  if (message.type === 'session') {
    const answered = offer;
    offer = undefined;
    setSession(message.token, message.isEnded ? 'signIn.ended' : (answered?.reason ?? null));
    if (answered) takeAnswer(answered, message.token);
    return;
  }
  if (message.type === 'firing') {
    firing.value = message.rules;
    return;
  }
  if (message.type === 'alarm') {
    const { tag } = message.alarm;
    void notify(message.alarm, () => link?.send({ type: 'told', tag }));
    return;
  }
  if (message.type === 'ping') {
    link?.send({ type: 'here' });
    return;
  }
  const { value: then } = session;
  // On the next frame: a hidden tab has none, so it takes no updates.
  requestAnimationFrame(() => {
    // Not an update for a previous session.
    if (then.state === 'in' && session.value === then) applyUpdate(message.update);
    link?.send({ type: 'taken' });
  });
}

/** @param token of the session that the hub has answered the first offer with. */
function takeAnswer({ reason, handed }: Offer, token: string | null): void {
  if (token === null) return;
  if (reason !== undefined) sayError(t(reason));
  if (handed !== undefined && handed !== token) handedToken.value = handed;
}

/** Replaces the session of all tabs with the token from the address. */
export function takeHanded(): void {
  const { value: token } = handedToken;
  if (token === null) return;
  const before = persistentToken();
  handedToken.value = null;
  storeToken(token, false);
  sendOffer({ token, isNew: true });
  void revokeReplaced(before, token);
}

/** Switches the session and clears everything of the previous one. */
function setSession(token: string | null, reason: PlainKey | null): void {
  const { value: before } = session;
  if (before.state === 'in' && before.token === token) return;
  if (before.state === 'out' && token === null && reason === null) return;
  resetState();
  forgetTable();
  clearToasts();
  firing.value = [];
  handedToken.value = null;
  client = token === null ? stranger : stranger.withToken(token);
  if (token === null) {
    // Signed out in this or another tab. (A rejected offer was never in use.)
    if (before.state === 'in') forgetToken();
    session.value = { state: 'out', reason };
  } else {
    // A reload uses the token of all tabs, not the one that this tab offered.
    storeTokenInTab(token);
    session.value = { state: 'in', token };
  }
}

/**
 * @param name who signs in; empty for nobody in particular. @param isPersistent keeps the session after the tab is closed.
 * @throws ApiError 401 wrong PIN, 429 locked.
 */
export async function signIn(pin: string, name: string, isPersistent: boolean): Promise<void> {
  const token = await stranger.exchangePin(pin, { name: name === '' ? undefined : name });
  beginSession(token, isPersistent);
}

/** @param isPersistent as in {@link signIn}. @throws ApiError 401 for a token that is not valid. */
export async function signInWithToken(token: string, isPersistent: boolean): Promise<void> {
  await stranger.withToken(token).apiInfo({ signal: AbortSignal.timeout(ANSWER_MS) });
  beginSession(token, isPersistent);
}

/** Signs in all tabs with a valid token. */
export function beginSession(token: string, isPersistent: boolean): void {
  const before = storedToken();
  storeToken(token, isPersistent);
  sendOffer({ token, isNew: true });
  void revokeReplaced(before, token);
}

/** Revokes a sign-in that was replaced and could not be signed out any more. Others may use a token that was made for them. */
async function revokeReplaced(before: string | null, token: string): Promise<void> {
  if (before === null || before === token) return;
  const { tokens } = stranger.withToken(before);
  try {
    if (isSignIn(await tokens.current())) await tokens.revokeCurrent();
  } catch {
    // Probably invalid already; otherwise it is in the list of tokens.
  }
}

/**
 * Signs out. @param isRevoked whether the token is revoked, too.
 * @throws Error if it could not be revoked; the session ends anyway.
 */
export async function signOut(isRevoked = true): Promise<void> {
  const leaving = client;
  forgetToken();
  try {
    if (isRevoked) {
      await leaving.tokens.revokeCurrent({ signal: AbortSignal.timeout(ANSWER_MS) });
    }
  } finally {
    link?.send({ type: 'sign-out' });
    // Immediately, so that a toast about it is not cleared later.
    setSession(null, null);
  }
}

/** Reconnects the stream now. */
export function retryNow(): void {
  link?.send({ type: 'retry' });
}
