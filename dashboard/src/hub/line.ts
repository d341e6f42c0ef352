import type { GapEvent, LogEvent, StreamEvent } from '../../../src/client/index.js';
import type { Line } from './messages.js';

/** Bound of a message. The service already truncates messages at 8,192 characters. */
const MAX_TEXT = 65_536;

export function logLine(id: string, event: LogEvent): Omit<Line, 'n'> {
  const { timestamp_ms, level, scope, session_id, transport, direction, message } = event;
  const { correlation_id: correlation } = event;
  const isLong = message.length > MAX_TEXT;
  return {
    id,
    at: timestamp_ms,
    level,
    scope,
    bot: session_id,
    transport,
    dir: direction === null ? null : direction === 'incoming' ? 'in' : 'out',
    ...(correlation !== undefined && { correlation }),
    text: isLong ? cut(message) : message,
  };
}

function cut(message: string): string {
  // A copy: a slice would keep the whole message in memory.
  const begin = structuredClone(message.slice(0, MAX_TEXT));
  return `${begin}… [cut, ${message.length} characters]`;
}

/** @param at when it was received: a gap event has no time. */
export function gapLine(id: string, gap: GapEvent, at: number): Omit<Line, 'n'> {
  const { dropped } = gap;
  const what =
    dropped === null
      ? 'Some events may be missing here'
      : `${dropped.toLocaleString('en')} ${dropped === 1 ? 'event is' : 'events are'} missing here`;
  const text = `${what} (${gap.from} to ${gap.to})`;
  return { id, at, level: 'gap', scope: '', bot: null, transport: null, dir: null, text };
}

/** The lines and gaps of a page of history; other events are skipped. */
export function historyLines(events: readonly StreamEvent[]): Line[] {
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

/** Whether id `a` is after `b`; undefined if their epochs differ. */
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
