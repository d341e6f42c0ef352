import { expect } from 'vitest';
import { type Answer, call, type ServiceApi } from './api.js';
import { type SseStream, streamOn } from './sse.js';

/** A token in a `GET /api/tokens` response. */
export interface Token {
  id: string;
  name: string;
  scopes: string[];
  bots: string[] | null;
  labels: Record<string, string> | null;
  created_at_ms: number;
  created_by: object | null;
  expires_at_ms: number | null;
  extended_by_use: boolean;
  last_used_at_ms: number | null;
  last_used_from: object | null;
  by_pin: boolean;
  current: boolean;
}

export interface Made extends Token {
  token: string;
}

/** `POST /api/tokens` with the service's own token. Omitted fields have defaults. */
export async function makeToken(service: ServiceApi, body: object = {}): Promise<Made> {
  const filled = { name: 'test', scopes: ['read'], ...body };
  const answer = await call(service, 'POST', '/api/tokens', { body: filled });
  expect(answer.status, answer.text).toBe(201);
  return answer.json as Made;
}

export async function listTokens(service: ServiceApi): Promise<Token[]> {
  const answer = await call(service, 'GET', '/api/tokens');
  expect(answer.status, answer.text).toBe(200);
  return (answer.json as { tokens: Token[] }).tokens;
}

export function revoke(service: ServiceApi, id: string): Promise<Answer> {
  return call(service, 'DELETE', `/api/tokens/${id}`);
}

export async function makeTicket(service: ServiceApi, token?: string): Promise<string> {
  const options = token === undefined ? {} : { token };
  const answer = await call(service, 'POST', '/auth/ticket', options);
  expect(answer.status, answer.text).toBe(200);
  return (answer.json as { ticket: string }).ticket;
}

/** `POST /api/tokens/link`. Omitted fields have defaults. */
export async function makeLink(
  service: ServiceApi,
  body: object = {},
  options: { token?: string } = {},
): Promise<{ link: string; expires_at_ms: number }> {
  const filled = { name: 'Ada', scopes: ['read'], ...body };
  const answer = await call(service, 'POST', '/api/tokens/link', { body: filled, ...options });
  expect(answer.status, answer.text).toBe(201);
  return answer.json as { link: string; expires_at_ms: number };
}

export function streamOf(service: ServiceApi, token: string, query = ''): Promise<SseStream> {
  return streamOn(service, `/events${query}`, { token });
}
