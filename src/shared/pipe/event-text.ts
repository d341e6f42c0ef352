// Events of a bot host process as text, one on each line of a batch: from the process through the relay to the broadcaster, which
// checks them. A line of a bot is JSON exactly as logJson writes it, so an expression reads it, its message stays JSON, and nobody
// parses it. A change of a bot is JSON with its id and what changes.

import type { Level } from '../contract/event-kinds.js';
import type { Item, LogItem } from '../contract/events.js';
import { logJson } from '../stream/frame.js';

/** Kept here before a kind can replace them. */
const { parse, stringify } = JSON;

const BREAK = '\n';
/** Content of a JSON string without escapes, and any. Not `(?:a|b)*`: of that the engine remembers each step. */
const PLAIN = String.raw`[^"\\\u0000-\u001f]*`;
const CONTENT = String.raw`${PLAIN}(?:\\(?:["\\/bfnrt]|u[0-9a-f]{4})${PLAIN})*`;
/** A line up to its message, which is the last field. Most have no escapes there, and are read in a third of the time. */
const PLAIN_HEAD = headWith(PLAIN);
const HEAD = headWith(CONTENT);
const WHOLE_CONTENT = new RegExp(`^${CONTENT}$`);
/** Most messages have none: to search for one takes a tenth of the time of {@link WHOLE_CONTENT}. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it matches
const SPECIAL = /["\\\u0000-\u001f]/;
const TAIL = '"}';

function headWith(name: string): RegExp {
  return new RegExp(
    `^{"timestamp_ms":(0|[1-9][0-9]{0,15}),"level":"(info|warn|error|state)","scope":"(${name})","session_id":"(${name})",` +
      `(?:"transport":null,"direction":null|"transport":"(tcp|http)","direction":"(outgoing|incoming)")` +
      `(?:,"correlation_id":"(${name})")?,"message":"`,
  );
}

/** Used by the host. */
export function packEvents(items: readonly Item[]): Uint8Array<ArrayBuffer> {
  return Buffer.from(items.map(eventText).join(BREAK));
}

function eventText(item: Item): string {
  if (item.kind === 'session') return stringify({ id: item.id, patch: item.patch });
  return logJson(item, stringify(item.scope), stringify(item.session_id));
}

/** The texts of a batch. */
export function eventTexts(bytes: Uint8Array): string[] {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().split(BREAK);
}

/** A line of a bot; null for any other text. */
export function readLine(text: string): (LogItem & { session_id: string }) | null {
  if (!text.endsWith(TAIL)) return null;
  const found = PLAIN_HEAD.exec(text) ?? HEAD.exec(text);
  if (!found) return null;
  const [head, at = '', level, scope = '', session = '', transport, direction, correlation] = found;
  const message = text.slice(head.length, -TAIL.length);
  if (SPECIAL.test(message) && !WHOLE_CONTENT.test(message)) return null;
  const item: LogItem & { session_id: string } = {
    kind: 'log',
    timestamp_ms: Number(at),
    level: level as Level,
    scope: contentOf(scope),
    session_id: contentOf(session),
    transport: (transport ?? null) as LogItem['transport'],
    direction: (direction ?? null) as LogItem['direction'],
    // The JSON string, with its quotes.
    message_json: text.slice(head.length - 1, -1),
  };
  if (correlation !== undefined) item.correlation_id = contentOf(correlation);
  return item;
}

function contentOf(json: string): string {
  return json.includes('\\') ? (parse(`"${json}"`) as string) : json;
}
