// Pure; runs in the hub and in tabs. Owns how an event of the stream or of the past becomes a line.

import type { GapEvent, LogEvent, StreamEvent } from '../../../src/client/index.js';
import type { Line } from './messages.js';

/** The service cuts messages at 8,192 characters; a line of any other origin is bounded here. */
const MAX_TEXT = 65_536;

export function logLine(id: string, event: LogEvent): Omit<Line, 'n'> {
  const { timestamp_ms, level, scope, session_id, transport, direction, message } = event;
  const isLong = message.length > MAX_TEXT;
  return {
    id,
    at: timestamp_ms,
    level,
    scope,
    bot: session_id,
    transport,
    dir: direction === null ? null : direction === 'incoming' ? 'in' : 'out',
    text: isLong ? cut(message) : message,
  };
}

function cut(message: string): string {
  // A copy: a slice would hold on to the whole message.
  const begin = structuredClone(message.slice(0, MAX_TEXT));
  return `${begin}… [cut, ${message.length} characters]`;
}

/** @param at when it was found: the event itself does not say. */
export function gapLine(id: string, gap: GapEvent, at: number): Omit<Line, 'n'> {
  const { dropped } = gap;
  const what =
    dropped === null
      ? 'Some events may be missing here'
      : `${dropped.toLocaleString('en')} ${dropped === 1 ? 'event is' : 'events are'} missing here`;
  const text = `${what} (${gap.from} to ${gap.to})`;
  return { id, at, level: 'gap', scope: '', bot: null, transport: null, dir: null, text };
}

/** Lines and gaps of a page of the past; other events are left out. @param n of the first, for their keys. */
export function pastLines(events: readonly StreamEvent[]): Line[] {
  const lines: Line[] = [];
  let at = 0;
  for (const event of events) {
    if (event.event === 'log') {
      at = event.data.timestamp_ms;
      lines.push({ ...logLine(event.id ?? '', event.data), n: 0 });
    } else if (event.event === 'gap') {
      lines.push({ ...gapLine(event.id ?? '', event.data, at), n: 0 });
    }
  }
  return lines;
}

/** Whether `a` stands behind `b` in the numbering; undefined when they are of different ones. */
export function isBehind(a: string, b: string): boolean | undefined {
  const [epochA, numberA] = split(a);
  const [epochB, numberB] = split(b);
  return epochA === epochB ? numberA > numberB : undefined;
}

/** The id before this one, undefined for the first. */
export function idBefore(id: string): string | undefined {
  const [epoch, number] = split(id);
  return number > 1 ? `${epoch}-${number - 1}` : undefined;
}

function split(id: string): [epoch: string, number: number] {
  const dash = id.lastIndexOf('-');
  return [id.slice(0, dash), Number(id.slice(dash + 1))];
}
