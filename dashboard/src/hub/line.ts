import type { GapEvent, LogEvent } from '../../../src/client/index.js';
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
  const { dropped, from, to } = gap;
  const missing = { dropped, from, to };
  return {
    id,
    at,
    level: 'gap',
    scope: '',
    bot: null,
    transport: null,
    dir: null,
    text: '',
    gap: missing,
  };
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
