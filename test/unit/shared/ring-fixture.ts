// A ring that is written and read in one thread, and text that is hard on encoders.

import fc from 'fast-check';
import type { LogEvent, LogItem } from '../../../src/shared/contract/events.js';
import { messageJson } from '../../../src/shared/contract/line-text.js';
import { createRing, type FrameMeta, type SharedRing } from '../../../src/shared/memory/layout.js';
import { RingReader } from '../../../src/shared/memory/ring-reader.js';
import { RingWriter } from '../../../src/shared/memory/ring-writer.js';

export const NO_META: FrameMeta = {
  kind: 0,
  level: 0,
  sessionLow: 0,
  sessionHigh: 0,
  scopeLow: 0,
  scopeHigh: 0,
  node: 0,
};

export interface TestRing {
  shared: SharedRing;
  writer: RingWriter;
  reader: RingReader;
}

export function testRing(bytes: number, slots: number, first = 1): TestRing {
  const shared = createRing({ bytes, slots, fronts: 1 }, first);
  return { shared, writer: new RingWriter(shared), reader: new RingReader(shared, 0) };
}

/** Characters that line-based or UTF-8 based formats trip over. */
const TRAPS = [
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\0',
  '\u2028',
  '\u2029',
  '\u0085',
  '\ufeff',
  '\ufffd',
  ':',
  'data: ',
  'event: gap\n',
  '"',
  '\\',
  '\\u0000',
  '😀',
  '\ud83d',
  '\ude00',
  'é',
  '€',
];

/** Any sequence of UTF-16 units, well formed or not, with traps in it. */
export const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom(...TRAPS),
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(''));

/** A line as a bot writes it. */
export function logLine({ message = '', ...over }: Partial<LogEvent> = {}): LogItem {
  return {
    kind: 'log',
    timestamp_ms: 1_700_000_000_000,
    level: 'info',
    scope: 'bot',
    session_id: null,
    transport: null,
    direction: null,
    message_json: messageJson(message),
    ...over,
  };
}

/** The event that a client must read from a line. */
export function eventOf({ kind: _, message_json, ...event }: LogItem): LogEvent {
  return { ...event, message: JSON.parse(message_json) as string };
}
