// Pure; used by the broadcaster. Owns how an event becomes the bytes of an SSE frame.

import {
  type BotSnapshot,
  type KINDS,
  LEVELS,
  type Level,
  type LogItem,
} from '../contract/events.js';

/** Codes of the ring's index for `kind`. */
export const KIND_CODE = { log: 0, session: 1, gap: 2 } as const satisfies Record<
  (typeof KINDS)[number],
  number
>;

/** Codes of the ring's index for `level`. */
export const LEVEL_CODE: Record<Level, number> = { info: 0, warn: 1, error: 2, state: 3 };

/** Level code of frames that have no level. */
export const NO_LEVEL = LEVELS.length;

/** An event id, `<epoch>-<sequence number>`: the epoch names one numbering, so that ids of another are told apart. */
export function eventId(epoch: string, seq: number): string {
  return `${epoch}-${seq}`;
}

/** The last timestamp as text: lines come many to the millisecond, and 13 digits take long to make. */
let lastTimestamp = 0;
let lastTimestampText = '0';

function timestampText(timestamp: number): string {
  if (timestamp !== lastTimestamp) {
    lastTimestamp = timestamp;
    lastTimestampText = String(timestamp);
  }
  return lastTimestampText;
}

/** The JSON of a log event, fields in the order of interface-seed §2.5. `scope` and `session` are JSON already. */
export function logJson(item: LogItem, scope: string, session: string): string {
  // By hand because it runs for every line of every bot: JSON.stringify of the object takes three times as long.
  const { transport, direction } = item;
  return (
    `{"timestamp_ms":${timestampText(item.timestamp_ms)},"level":"${item.level}","scope":${scope},` +
    `"session_id":${session},"transport":${transport === null ? 'null' : `"${transport}"`},` +
    `"direction":${direction === null ? 'null' : `"${direction}"`},"message":${item.message_json}}`
  );
}

/** The JSON of a session event (interface-seed §2.6). */
export function sessionJson(snapshot: BotSnapshot): string {
  return `{"snapshot":${JSON.stringify(snapshot)}}`;
}

/**
 * One whole SSE frame (interface-seed §6). JSON never holds a raw line break, so `data` is always one line;
 * U+2028 and U+2029 are no line breaks in an event stream.
 */
export function sseFrame(id: string, kind: (typeof KINDS)[number], json: string): string {
  return `id: ${id}\nevent: ${kind}\ndata: ${json}\n\n`;
}
