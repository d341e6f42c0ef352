// Events of a bot host process as JSON: from the process to the relay, which checks them, and on to the broadcaster, which turns them
// into items. A line is as the stream shows it; a change of a bot has its id and what changes.

import type { Item, LogItem, SessionItem } from '../contract/events.js';
import { messageJson } from '../contract/line-text.js';
import { logJson } from '../stream/frame.js';
import { unpackMessage } from './frames.js';

const { stringify } = JSON;

/** An event as it was sent. The relay has checked these fields; others mean nothing. */
export type SentEvent = Omit<LogItem, 'kind' | 'message_json'> & { message: string } & Partial<
    Pick<SessionItem, 'id' | 'patch'>
  >;

/** By the host. */
export function packEvents(items: readonly Item[]): Uint8Array<ArrayBuffer> {
  return Buffer.from(`[${items.map(eventJson).join()}]`);
}

function eventJson(item: Item): string {
  if (item.kind === 'session') return stringify({ id: item.id, patch: item.patch });
  return logJson(item, stringify(item.scope), stringify(item.session_id));
}

/** By the broadcaster, of a batch that the relay has checked. */
export function unpackEvents(bytes: Uint8Array): Item[] {
  const now = Date.now();
  return (unpackMessage(bytes) as SentEvent[]).map((event) => itemOf(event, now));
}

/** Of an event that was checked. */
export function itemOf(event: SentEvent, now: number): Item {
  const { id, patch } = event;
  if (patch !== undefined && id !== undefined) return { kind: 'session', id, patch };
  const item: LogItem = {
    kind: 'log',
    // No line is from the future: the process has the clock of this machine.
    timestamp_ms: Math.min(event.timestamp_ms, now),
    level: event.level,
    scope: event.scope,
    session_id: event.session_id,
    transport: event.transport,
    direction: event.direction,
    message_json: messageJson(event.message),
  };
  if (event.correlation_id !== undefined) item.correlation_id = event.correlation_id;
  return item;
}
