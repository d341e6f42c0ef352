import { expect } from 'vitest';
import { call } from './api.js';
import type { Service } from './service.js';

/** An event in a `GET /api/events` response. */
export interface PastEvent {
  id: string;
  event: 'log' | 'session' | 'gap' | 'activity';
  data: {
    timestamp_ms?: number;
    message?: string;
    session_id?: string | null;
    level?: string;
    scope?: string;
    snapshot?: { id: string; status: string };
    from?: string;
    to?: string;
    dropped?: number | null;
  };
}

export interface PastPage {
  events: PastEvent[];
  cursor: string | null;
}

export async function pastPage(service: Service, query = '', token?: string): Promise<PastPage> {
  const options = token === undefined ? {} : { token };
  const answer = await call(service, 'GET', `/api/events${query}`, options);
  expect(answer.status, answer.text).toBe(200);
  return answer.json as PastPage;
}

/** Reads all pages of a query, in order. */
export async function allPages(
  service: Service,
  query: string,
  token?: string,
): Promise<PastEvent[]> {
  const events: PastEvent[] = [];
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? '' : `&cursor=${cursor}`;
    const page = await pastPage(service, `${query}${more}`, token);
    events.push(...page.events);
    cursor = page.cursor;
  } while (cursor !== null);
  return events;
}

/** Reads a download with `format=ndjson`. */
export async function pastDownload(service: Service, query = ''): Promise<PastEvent[]> {
  const answer = await call(service, 'GET', `/api/events?format=ndjson${query}`);
  expect(answer.status, answer.text.slice(0, 500)).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
  const lines = answer.text.split('\n');
  expect(lines.pop()).toBe('');
  return lines.map((line) => JSON.parse(line) as PastEvent);
}

export const seqOf = (id: string): number => Number(id.slice(id.indexOf('-') + 1));
export const epochOf = (id: string): string => id.slice(0, id.indexOf('-'));

export interface JournalInfo {
  state: string;
  reason: string | null;
  oldest: string | null;
  newest: string | null;
  bytes: number;
  lost: number;
  holes: number;
}

/** The state that the journal reports. */
export async function journalOf(service: Service): Promise<JournalInfo> {
  const answer = await call(service, 'GET', '/api/stats');
  expect(answer.status, answer.text).toBe(200);
  return (answer.json as { journal: JournalInfo }).journal;
}

/** How many events the journal holds, by their numbers. */
export async function keptBy(service: Service): Promise<number> {
  const { oldest, newest } = await journalOf(service);
  return oldest === null || newest === null ? 0 : seqOf(newest) - seqOf(oldest) + 1;
}
