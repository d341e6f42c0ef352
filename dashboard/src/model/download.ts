// Runs in tabs. Owns the log as a file: one event on a line, as `GET /api/events?format=ndjson` has them.

import type { StreamEvent } from '../../../src/client/index.js';
import type { Line } from '../hub/messages.js';
import { save } from '../parts/copy.js';
import { type LogFilter, queryOf } from './log-filter.js';
import { api } from './session.js';

const NDJSON = 'application/x-ndjson';
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
  save(fileName(), new Blob(parts, { type: NDJSON }));
}

/** All that the journal has of a filter. @throws ApiError when it is not whole; then there is no file. */
export async function downloadJournal(filter: LogFilter): Promise<void> {
  // The token goes in a header: in the address of a download it would stay in the browser's list.
  const events = api().download(queryOf(filter));
  // A blob may be kept on the disk, a text not.
  const parts: Blob[] = [];
  let lines: string[] = [];
  const cut = (): void => {
    parts.push(new Blob(lines));
    lines = [];
  };
  for await (const event of events) {
    if (!isOfDirection(event, filter.dir)) continue;
    lines.push(`${JSON.stringify(event)}\n`);
    if (lines.length === CHUNK) cut();
  }
  cut();
  save(fileName(), new Blob(parts, { type: NDJSON }));
}

/** The service does not filter by it. Where something is missing nobody knows of what. */
function isOfDirection(event: StreamEvent, dir: LogFilter['dir']): boolean {
  if (dir === '' || event.event !== 'log') return true;
  const { direction } = event.data;
  if (dir === 'wire') return direction !== null;
  return direction === (dir === 'in' ? 'incoming' : 'outgoing');
}

function fileName(): string {
  return `drover-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.ndjson`;
}
