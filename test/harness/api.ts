import type { IncomingMessage } from 'node:http';
import { expect } from 'vitest';
import { expectDescribed } from './described.js';

/** A service to call: over sockets (service.ts) or in the test's own thread (inject.ts). */
export interface ServiceApi {
  readonly pin: string;
  /** A token of this service; the PIN is exchanged once. */
  token(): Promise<string>;
  /** Sends one request and reads the complete body. */
  request(request: {
    method: string;
    target: string;
    headers: Record<string, string>;
    body?: string;
  }): Promise<Received>;
  /** Sends a GET and resolves with the response head, regardless of its status. The caller reads the body. */
  open(target: string, headers: Record<string, string>): Promise<IncomingMessage>;
}

/** A response. */
export interface Received {
  status: number;
  headers: Headers;
  text: string;
}

export interface Answer extends Received {
  json: unknown;
}

export interface CallOptions {
  /** Undefined sends the service's own token, null sends none. */
  token?: string | null;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent unchanged, instead of `body`. */
  text?: string;
  headers?: Record<string, string>;
}

/** Sends one call. The OpenAPI document must describe its response. */
export async function call(
  service: ServiceApi,
  method: string,
  target: string,
  options: CallOptions = {},
): Promise<Answer> {
  const headers: Record<string, string> = { ...options.headers };
  const token = options.token === undefined ? await service.token() : options.token;
  if (token !== null) headers.authorization ??= `Bearer ${token}`;
  let { text: body } = options;
  if (options.body !== undefined) {
    headers['content-type'] ??= 'application/json';
    body ??= JSON.stringify(options.body);
  }
  const received = await service.request({
    method,
    target,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const contentType = received.headers.get('content-type') ?? '';
  const { status, text } = received;
  expectDescribed(method, target, { status, contentType, body: text });
  return { ...received, json: parse(text) };
}

/** Exchanges the PIN for a fresh token. */
export async function exchangePin(service: ServiceApi): Promise<string> {
  const { status, json, text } = await tryPin(service, service.pin);
  const { token } = (json ?? {}) as { token?: unknown };
  if (typeof token !== 'string') throw new Error(`no token: ${status} ${text}`);
  return token;
}

/** `POST /auth/pin` without a token. */
export function tryPin(service: ServiceApi, pin: unknown): Promise<Answer> {
  return call(service, 'POST', '/auth/pin', { token: null, body: { pin } });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface ErrorLike {
  status: number;
  headers: Headers | Record<string, string>;
  /** The body, or a function that returns it. */
  json: unknown;
}

/** Validates an error response: status, JSON, and a body with only `error`. Returns the message. */
export function expectError(answer: ErrorLike, status: number, message?: string | RegExp): string {
  const { headers } = answer;
  const type = headers instanceof Headers ? headers.get('content-type') : headers['content-type'];
  const body = typeof answer.json === 'function' ? (answer.json as () => unknown)() : answer.json;
  expect({ status: answer.status, body }).toEqual({ status, body: { error: expect.any(String) } });
  expect(type).toMatch(/^application\/json\b/);
  const { error } = body as { error: string };
  expect(error).not.toBe('');
  if (message instanceof RegExp) expect(error).toMatch(message);
  else if (message !== undefined) expect(error).toBe(message);
  return error;
}
