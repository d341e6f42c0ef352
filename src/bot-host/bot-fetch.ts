// Runs in a bot host thread. `fetch` for bots: each request and response is a wire line, those of redirects too.

import type { Logger } from '../bot-sdk/index.js';
import { explain } from './error-text.js';
import type { Fence } from './fence.js';
import { redactText, redactUrl } from './redact.js';

/** Most redirects of one request, as many as fetch follows. */
const MAX_REDIRECTS = 20;
const HTTP = /^https?:$/;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers about the body, which a redirect that becomes a GET no longer sends. */
const BODY_HEADERS = ['encoding', 'language', 'location', 'type', 'length'].map(
  (name) => `content-${name}`,
);
/** Credentials, which are meant only for the server that they were given for. */
const CREDENTIAL_HEADERS = ['authorization', 'proxy-authorization', 'cookie', 'host'];

/** Throws unless the bot may connect. */
export type CheckAddress = (host: string, port: number) => void;

type Send = (url: URL, init: RequestInit) => Promise<Response>;

interface Step {
  url: URL;
  init: RequestInit;
}

/**
 * Follows redirects itself, because each of them must be allowed, and is a message on the wire.
 * Source: Fetch standard, "HTTP-redirect fetch".
 */
export async function fetchAsBot(
  url: URL,
  init: RequestInit,
  log: Logger,
  check: CheckAddress,
  send: Send = (to, what) => fetch(to, what),
  fence: Fence | null = null,
): Promise<Response> {
  let step: Step = { url, init: { ...init, redirect: 'manual' } };
  for (let count = 0; ; count++) {
    const response = await exchange(step, log, check, fencedSend(send, fence));
    const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
    if (location === null || init.redirect === 'manual') {
      if (count > 0) Object.defineProperty(response, 'redirected', { value: true });
      return response;
    }
    // Otherwise the connection would stay open for it.
    await response.body?.cancel();
    if (init.redirect === 'error') throw failure('unexpected redirect');
    if (count === MAX_REDIRECTS) throw failure('redirect count exceeded');
    step = redirected(step, response.status, location);
  }
}

async function exchange(
  { url, init }: Step,
  log: Logger,
  check: CheckAddress,
  send: Send,
): Promise<Response> {
  const line = `${methodOf(init)} ${redactUrl(url)}`;
  if (HTTP.test(url.protocol)) {
    check(url.hostname, Number(url.port) || (url.protocol === 'https:' ? 443 : 80));
  }
  log.wire('http', 'outgoing', line);
  let response: Response;
  try {
    response = await send(url, init);
  } catch (thrown) {
    log.info(`${line} failed: ${redactText(explain(thrown))}`);
    throw thrown;
  }
  log.wire('http', 'incoming', `${response.status} ${line}`);
  return response;
}

/** A body that is read while it is sent is checked at each part. */
function fencedSend(send: Send, fence: Fence | null): Send {
  if (!fence) return send;
  return async (url, init) => {
    fence.check();
    const { body } = init;
    if (!isStream(body)) return send(url, init);
    const parts = fenced(body as unknown as AsyncIterable<Uint8Array>, fence);
    return send(url, {
      ...init,
      body: ReadableStream.from(parts) as unknown as RequestInit['body'],
    });
  };
}

async function* fenced(
  body: AsyncIterable<Uint8Array>,
  fence: Fence,
): AsyncGenerator<Uint8Array, void, void> {
  for await (const part of body) {
    fence.check();
    yield part;
  }
}

function redirected({ url, init }: Step, status: number, location: string): Step {
  if (!URL.canParse(location, url.href)) throw failure('the redirect has an invalid location');
  const target = new URL(location, url);
  if (!HTTP.test(target.protocol)) throw failure('the redirect leads to another scheme');
  if (target.hash === '') target.hash = url.hash;
  const method = methodOf(init);
  const next: RequestInit = { ...init };
  const headers = new Headers(init.headers);
  const isGet = method === 'GET' || method === 'HEAD';
  if ((status === 303 && !isGet) || (status <= 302 && method === 'POST')) {
    next.method = 'GET';
    next.body = null;
    for (const name of BODY_HEADERS) headers.delete(name);
  } else if (isStream(init.body)) {
    throw failure('a streamed body cannot be sent again');
  }
  if (target.origin !== url.origin) for (const name of CREDENTIAL_HEADERS) headers.delete(name);
  return { url: target, init: { ...next, headers } };
}

function methodOf({ method = 'GET' }: RequestInit): string {
  return method.toUpperCase();
}

function isStream(body: RequestInit['body']): boolean {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

/** The error with which fetch itself fails. */
function failure(reason: string): TypeError {
  return new TypeError('fetch failed', { cause: new Error(reason) });
}
