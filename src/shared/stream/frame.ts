import { type KINDS, LEVELS, type Level } from '../contract/event-kinds.js';
import type { BotSnapshot, LogItem } from '../contract/events.js';

/** Codes of the ring's index for `kind`. */
export const KIND_CODE = {
  log: 0,
  session: 1,
  gap: 2,
  alert: 3,
  activity: 4,
  operation: 5,
} as const satisfies Record<(typeof KINDS)[number], number>;

/** Codes of the ring's index for `level`. */
export const LEVEL_CODE: Record<Level, number> = { info: 0, warn: 1, error: 2, state: 3 };

/** Level code of frames that have no level. */
export const NO_LEVEL = LEVELS.length;

/** An event id, `<epoch>-<sequence number>`: the epoch names one numbering, so that ids of another numbering are recognized. */
export function eventId(epoch: string, seq: number): string {
  return `${epoch}-${seq}`;
}

/** The last timestamp as text: many lines have the same millisecond, and 13 digits take long to format. */
let lastTimestamp = 0;
let lastTimestampText = '0';

function timestampText(timestamp: number): string {
  if (timestamp !== lastTimestamp) {
    // Any other number would not be JSON.
    if (!Number.isSafeInteger(timestamp)) throw new RangeError('its timestamp is no integer');
    lastTimestamp = timestamp;
    lastTimestampText = String(timestamp);
  }
  return lastTimestampText;
}

const LOG_START = '{"timestamp_ms":';
const MESSAGE_START = ',"message":"';
const MESSAGE_END = '"}';

/**
 * The JSON of a log event, fields in the order of docs/INTERFACE.md §2.5. `scope` and `session` are JSON already.
 * @throws RangeError when the timestamp is no integer.
 */
export function logJson(item: LogItem, scope: string, session: string): string {
  // Written by hand, because it runs for every line of every bot and JSON.stringify takes three times as long.
  const { transport, direction, correlation_id: id } = item;
  return (
    `{"timestamp_ms":${timestampText(item.timestamp_ms)},"level":"${item.level}","scope":${scope},` +
    `"session_id":${session},"transport":${transport === null ? 'null' : `"${transport}"`},` +
    `"direction":${direction === null ? 'null' : `"${direction}"`}${id === undefined ? '' : `,"correlation_id":${JSON.stringify(id)}`},"message":${item.message_json}}`
  );
}

/** The JSON of a session event (docs/INTERFACE.md §2.6). */
export function sessionJson(snapshot: BotSnapshot): string {
  return `{"snapshot":${JSON.stringify(snapshot)}}`;
}

/**
 * The JSON of a gap event: ids of the first and last lost event, and how many, null when that is not known. @param node whose events
 * were lost, on the stream of a cluster.
 */
export function gapJson(from: string, to: string, dropped: number | null, node?: string): string {
  return JSON.stringify({ from, to, dropped, node });
}

/** The bytes that every frame of the ring begins with. */
export const FRAME_START = 'id: ';
const DATA_START = '\ndata: ';
const FRAME_END = '\n\n';

/**
 * One whole SSE frame (docs/INTERFACE.md §6). JSON never holds a raw line break, so `data` is always one line;
 * U+2028 and U+2029 are no line breaks in an event stream.
 */
export function sseFrame(id: string, kind: (typeof KINDS)[number], json: string): string {
  return `id: ${id}\nevent: ${kind}\ndata: ${json}\n\n`;
}

/** The id of a whole frame. */
export function frameId(frame: string): string {
  return frame.slice(FRAME_START.length, frame.indexOf('\n'));
}

/** The JSON of a whole frame. */
export function frameData(frame: string): string {
  return frame.slice(frame.indexOf(DATA_START) + DATA_START.length, -FRAME_END.length);
}

/** The message of a whole `log` frame as JSON without its quotes. */
export function frameMessage(frame: string): string {
  const { from, to } = messageSpan(frame, 0, frame.length);
  return frame.slice(from, to);
}

/** Where the message is of the `log` frame that is from `start` to before `end`. */
export function messageSpan(
  frames: string,
  start: number,
  end: number,
): { from: number; to: number } {
  // A quote inside a JSON string is escaped, so the first match is the field; it is the last of the event.
  const from = frames.indexOf(MESSAGE_START, start) + MESSAGE_START.length;
  return { from, to: end - MESSAGE_END.length - FRAME_END.length };
}

/** Fields of a `log` event that are a text, or null. */
type TextField = 'scope' | 'session_id' | 'transport' | 'direction';

/** The piece of JSON before the text of this field in a `log` event. */
export function fieldStart(field: TextField): string {
  return `,"${field}":"`;
}

/**
 * What a field of a whole `log` frame is; null for `null`. Not by JSON.parse of the frame: that takes longer, and in journals of earlier
 * builds there are lines that are no JSON.
 */
export function frameField(frame: string, field: TextField): string | null {
  // As with the message, the first match is the field: no text before it can have a quote that is not escaped.
  const start = fieldStart(field);
  const at = frame.indexOf(start);
  if (at < 0) return null;
  const from = at + start.length;
  const to = endOfString(frame, from);
  const json = frame.slice(from, to);
  return json.includes('\\') ? (JSON.parse(`"${json}"`) as string) : json;
}

/** Where a string of JSON ends, of which `from` is within. */
function endOfString(json: string, from: number): number {
  let to = json.indexOf('"', from);
  for (; to >= 0; to = json.indexOf('"', to + 1)) {
    let escapes = 0;
    while (json[to - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return to;
  }
  return json.length;
}

/**
 * Bytes before the digits of `timestamp_ms` in a frame of this numbering, without the digits of the sequence number. It is the first
 * field of a line, and of an activity.
 */
export function timestampOffset(epoch: string, kind: 'log' | 'activity'): number {
  return sseFrame(eventId(epoch, 0), kind, LOG_START).length - '0'.length - FRAME_END.length;
}
