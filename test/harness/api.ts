// Test harness. Owns JSON calls to a running service, and the shape that every error has.

import { expect } from 'vitest';
import { expectDescribed } from './described.js';
import type { Service } from './service.js';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: unknown;
}

export interface CallOptions {
  /** Undefined sends the service's own token, null sends none. */
  token?: string | null;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** One HTTP call; reads the body whole. */
export async function call(
  service: Service,
  method: string,
  target: string,
  options: CallOptions = {},
): Promise<Answer> {
  const headers: Record<string, string> = { ...options.headers };
  const token = options.token === undefined ? await service.token() : options.token;
  if (token !== null) headers.authorization ??= `Bearer ${token}`;
  const init: RequestInit = { method, headers, redirect: 'error' };
  if (options.body !== undefined) {
    headers['content-type'] ??= 'application/json';
    init.body = JSON.stringify(options.body);
  }
  const response = await fetch(`${service.url}${target}`, init);
  const text = await response.text();
  const contentType = response.headers.get('content-type') ?? '';
  expectDescribed(method, target, { status: response.status, contentType, body: text });
  return { status: response.status, headers: response.headers, text, json: parse(text) };
}

/** `POST /auth/pin` without a token. */
export function tryPin(service: Service, pin: unknown): Promise<Answer> {
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
  /** The body, or what gives it. */
  json: unknown;
}

/** Holds an answer against the table of errors: status, JSON, and a body of `error` alone. Returns the message. */
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
