import type { Line } from '../hub/messages.js';
import { save } from '../parts/copy.js';
import { type LogFilter, queryOf } from './log-filter.js';
import { api } from './session.js';

const NDJSON = 'application/x-ndjson';
/** Lines per blob part: one string of all lines could exceed the engine's limit. */
const CHUNK = 1000;

/** The event of a line, as in `GET /api/events?format=ndjson`. */
export function eventOf(line: Line): object {
  const { id, at, level, scope, bot, transport, dir, correlation, text } = line;
  if (level === 'gap') return { id, event: 'gap', message: text };
  const direction = dir === null ? null : dir === 'in' ? 'incoming' : 'outgoing';
  const data = {
    timestamp_ms: at,
    level,
    scope,
    session_id: bot,
    transport,
    direction,
    ...(correlation !== undefined && { correlation_id: correlation }),
    message: text,
  };
  return { id, event: 'log', data };
}

/** Saves the loaded rows as NDJSON. */
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
  save(fileName(), new Blob(parts, { type: NDJSON }));
}

/** Saves all matching events of the journal as NDJSON. @throws ApiError if the download is incomplete; no file is saved then. */
export async function downloadJournal(filter: LogFilter): Promise<void> {
  // Not a download link: its token would appear in the browser's download list.
  const events = api().download({
    ...queryOf(filter),
    after: filter.range?.fromMs,
    before: filter.range?.toMs,
  });
  // Blobs, because the browser can keep them on disk.
  const parts: Blob[] = [];
  let lines: string[] = [];
  const cut = (): void => {
    parts.push(new Blob(lines));
    lines = [];
  };
  for await (const event of events) {
    lines.push(`${JSON.stringify(event)}\n`);
    if (lines.length === CHUNK) cut();
  }
  cut();
  save(fileName(), new Blob(parts, { type: NDJSON }));
}

function fileName(): string {
  return `drover-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.ndjson`;
}
