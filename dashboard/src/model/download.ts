// Runs in tabs. Owns the log as a file: one event on a line, as `GET /api/events?format=ndjson` has them.

import { ApiError } from '../../../src/client/index.js';
import type { Line } from '../hub/messages.js';
import { save } from '../parts/copy.js';
import type { LogFilter } from './log-window.js';
import { api } from './session.js';

/** Lines that are put together in one go: one text of all of them would be too long for some engines. */
const CHUNK = 1000;

export function eventOf(line: Line): object {
  const { id, at, level, scope, bot, transport, dir, text } = line;
  if (level === 'gap') return { id, event: 'gap', message: text };
  const direction = dir === null ? null : dir === 'in' ? 'incoming' : 'outgoing';
  const data = {
    timestamp_ms: at,
    level,
    scope,
    session_id: bot,
    transport,
    direction,
    message: text,
  };
  return { id, event: 'log', data };
}

/** The rows that are there. */
export function downloadRows(rows: readonly Line[]): void {
  const parts: string[] = [];
  for (let from = 0; from < rows.length; from += CHUNK) {
    parts.push(
      rows
        .slice(from, from + CHUNK)
        .map((line) => `${JSON.stringify(eventOf(line))}\n`)
        .join(''),
    );
  }
  save(fileName(), new Blob(parts, { type: 'application/x-ndjson' }));
}

/** All that the journal has of a filter. @throws ApiError */
export async function downloadJournal({ levels, scopes, bots, text }: LogFilter): Promise<void> {
  const query = new URLSearchParams({ format: 'ndjson', kind: 'log' });
  if (levels.length > 0) query.set('level', levels.join());
  if (scopes.length > 0) query.set('scope', scopes.join());
  if (bots.length > 0) query.set('session', bots.join());
  if (text !== '') query.set('q', text);
  const { url, token } = api();
  // With the token in a header: in the address of a download it would stay in the browser's list.
  const answer = await fetch(`${url}/api/events?${query}`, {
    headers: { authorization: `Bearer ${token}` },
    cache: 'no-store',
  });
  if (!answer.ok) throw new ApiError(answer.status, await errorIn(answer));
  save(fileName(), await answer.blob());
}

async function errorIn(answer: Response): Promise<string> {
  if (answer.status === 404) return 'this service keeps no journal';
  const { error } = (await answer.json().catch(() => ({}))) as { error?: string };
  return error ?? `the service answered ${answer.status}`;
}

function fileName(): string {
  return `drover-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.ndjson`;
}
