import { createParser, type EventSourceMessage } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KINDS, LEVELS } from '../../../src/shared/contract/event-kinds.js';
import type { BotSnapshot, LogEvent } from '../../../src/shared/contract/events.js';
import {
  boundMessage,
  MAX_MESSAGE_UNITS,
  messageJson,
} from '../../../src/shared/contract/line-text.js';
import { USAGE_NAMES } from '../../../src/shared/contract/usage.js';
import { MAX_FRAME_BYTES } from '../../../src/shared/memory/layout.js';
import {
  eventId,
  frameData,
  frameField,
  frameId,
  frameMessage,
  KIND_CODE,
  LEVEL_CODE,
  logJson,
  NO_LEVEL,
  sessionJson,
  sseFrame,
  timestampOffset,
} from '../../../src/shared/stream/frame.js';
import { anyText, eventOf, logLine } from './ring-fixture.js';

/** Parses bytes that arrive in pieces of these sizes, as a client does. */
function parse(
  bytes: Uint8Array,
  pieces: readonly number[] = [bytes.length],
): EventSourceMessage[] {
  const events: EventSourceMessage[] = [];
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onComment: (comment) => expect.unreachable(`a comment: ${comment}`),
    onError: (error) => expect.unreachable(error.message),
  });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let at = 0;
  for (let piece = 0; at < bytes.length; piece++) {
    const size = pieces[piece % pieces.length] as number;
    parser.feed(decoder.decode(bytes.subarray(at, at + size), { stream: true }));
    at += size;
  }
  return events;
}

const logEvents: fc.Arbitrary<LogEvent> = fc.record(
  {
    timestamp_ms: fc.maxSafeInteger(),
    level: fc.constantFrom(...LEVELS),
    scope: anyText,
    session_id: fc.option(anyText),
    transport: fc.constantFrom('tcp', 'http', null),
    direction: fc.constantFrom('outgoing', 'incoming', null),
    correlation_id: anyText,
    message: anyText,
  },
  {
    requiredKeys: [
      'timestamp_ms',
      'level',
      'scope',
      'session_id',
      'transport',
      'direction',
      'message',
    ],
  },
);
const jsonOf = (event: LogEvent): string =>
  logJson(logLine(event), JSON.stringify(event.scope), JSON.stringify(event.session_id));

const snapshots: fc.Arbitrary<BotSnapshot> = fc.record({
  id: anyText,
  kind: anyText,
  status: anyText,
  desired: fc.constantFrom('running', 'stopped'),
  since_ms: fc.nat(),
  started_at_ms: fc.option(fc.nat()),
  restarts: fc.nat(),
  host: fc.option(fc.nat()),
  last_error: fc.option(anyText),
  labels: fc.dictionary(fc.string(), anyText, { noNullPrototype: true }),
  data: fc.dictionary(fc.string(), anyText, { noNullPrototype: true }),
  usage: fc.option(
    fc.record({
      cpu: fc.nat(),
      memory_mb: fc.option(fc.nat()),
      lines_per_second: fc.nat(),
      bytes_per_second: fc.nat(),
      connections: fc.nat(),
    }),
  ),
  over_quota: fc.subarray([...USAGE_NAMES]),
});

describe('a frame on the wire', () => {
  it('round-trips through a real parser, for any text split anywhere', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(logEvents, snapshots), { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (items, pieces) => {
          const frames = items.map((item, at) =>
            'level' in item
              ? sseFrame(eventId('0a1b', at), 'log', jsonOf(item))
              : sseFrame(eventId('0a1b', at), 'session', sessionJson(item)),
          );
          const events = parse(Buffer.from(frames.join('')), pieces);
          expect(events.map(({ event, id }) => ({ event, id }))).toEqual(
            items.map((item, at) => ({
              event: 'level' in item ? 'log' : 'session',
              id: `0a1b-${at}`,
            })),
          );
          expect(events.map(({ data }) => JSON.parse(data))).toEqual(
            items.map((item) => ('level' in item ? item : { snapshot: item })),
          );
        },
      ),
    );
  });

  it('is read by the service as by a real parser', () => {
    fc.assert(
      fc.property(fc.oneof(logEvents, snapshots), fc.nat(), (item, seq) => {
        const isLog = 'level' in item;
        const json = isLog ? jsonOf(item) : sessionJson(item);
        const frame = sseFrame(eventId('0a1b', seq), isLog ? 'log' : 'session', json);
        const [event] = parse(Buffer.from(frame));
        expect(frameId(frame)).toBe(event?.id);
        expect(frameData(frame)).toBe(event?.data);
        if (!isLog) return;
        expect(JSON.parse(`"${frameMessage(frame)}"`)).toBe(item.message);
        const time = frame.slice(timestampOffset('0a1b', 'log') + String(seq).length);
        expect(Number.parseInt(time, 10)).toBe(item.timestamp_ms);
      }),
    );
  });

  it('has exactly the lines of docs/INTERFACE.md §6, in a data line each', () => {
    fc.assert(
      fc.property(logEvents, (event) => {
        const json = jsonOf(event);
        expect(sseFrame('e-1', 'log', json)).toBe(`id: e-1\nevent: log\ndata: ${json}\n\n`);
        expect(json).not.toMatch(/[\r\n]/);
      }),
    );
  });

  it('holds the fields of docs/INTERFACE.md §2.5 in their order, and a correlation id only where there is one', () => {
    fc.assert(
      fc.property(logEvents, (event) => {
        expect(Object.keys(JSON.parse(jsonOf(event)) as object)).toEqual([
          'timestamp_ms',
          'level',
          'scope',
          'session_id',
          'transport',
          'direction',
          ...(event.correlation_id === undefined ? [] : ['correlation_id']),
          'message',
        ]);
      }),
    );
  });
});

describe('the codes of the index', () => {
  it('number kinds and levels in the order of the contract', () => {
    expect(KINDS.map((kind) => KIND_CODE[kind])).toEqual(KINDS.map((_, at) => at));
    expect(LEVELS.map((level) => LEVEL_CODE[level])).toEqual(LEVELS.map((_, at) => at));
    expect(Object.values(LEVEL_CODE)).not.toContain(NO_LEVEL);
  });
});

describe('boundMessage', () => {
  it('leaves a message that fits as it is', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(boundMessage(text)).toBe(text);
      }),
    );
    const longest = 'x'.repeat(MAX_MESSAGE_UNITS);
    expect(boundMessage(longest)).toBe(longest);
  });

  it('cuts a longer one with a mark that says how long it was', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: MAX_MESSAGE_UNITS + 1, max: 1_100_000 }),
        fc.constantFrom('x', '\n', '\0', '😀', '\ud83d', '\u2028', '€'),
        (length, unit) => {
          const text = unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
          const cut = boundMessage(text);
          const mark = `… [cut, ${length} characters]`;
          // One less where the cut would part the two halves of a character.
          expect(cut.length).toBeLessThanOrEqual(MAX_MESSAGE_UNITS);
          expect(cut.length).toBeGreaterThanOrEqual(MAX_MESSAGE_UNITS - 1);
          expect(cut.endsWith(mark)).toBe(true);
          expect(text.startsWith(cut.slice(0, -mark.length))).toBe(true);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('keeps the frame of a 1 MB line complete and below the largest frame, for any content', () => {
    for (const unit of ['x', '\0', '\n', '\u001f', '\u2028', '😀', '\ud83d', '"']) {
      const line = logLine({
        message: unit.repeat(1_000_000),
        session_id: 'b'.repeat(64),
        scope: '\0'.repeat(64),
      });
      const event = eventOf(line);
      expect(event.message.endsWith(`… [cut, ${1_000_000 * unit.length} characters]`)).toBe(true);
      const frame = Buffer.from(sseFrame(eventId('ffffffffff', 2 ** 52), 'log', jsonOf(event)));
      expect(frame.length).toBeLessThanOrEqual(MAX_FRAME_BYTES);
      const [read] = parse(frame);
      expect(JSON.parse(read?.data ?? '')).toEqual(event);
    }
  });
});

describe('messageJson', () => {
  it('is what JSON.stringify makes of the bounded message', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, fc.string(), fc.string({ unit: 'binary' })), (text) => {
        expect(messageJson(text)).toBe(JSON.stringify(boundMessage(text)));
      }),
      { numRuns: 1000 },
    );
  });

  it('escapes every unit that must be', () => {
    for (let unit = 0; unit <= 0xffff; unit++) {
      const text = `a${String.fromCharCode(unit)}b`;
      if (messageJson(text) !== JSON.stringify(text)) expect.unreachable(`U+${unit.toString(16)}`);
    }
  });
});

it.each([Number.NaN, Number.POSITIVE_INFINITY, 1.5])(
  'a line whose timestamp is %s is refused: it would not be JSON, or no integer',
  (timestamp_ms) => {
    const item = logLine({ message: 'a line', timestamp_ms });
    expect(() => logJson(item, '"bot"', 'null')).toThrow('its timestamp is no integer');
  },
);

it('a field of a line is what JSON.parse would give, also beside texts that look like it', () => {
  const any = fc.record({
    scope: anyText,
    session_id: fc.option(fc.oneof(anyText, fc.constant('","session_id":"x'))),
    transport: fc.constantFrom('tcp' as const, 'http' as const, null),
    direction: fc.constantFrom('incoming' as const, 'outgoing' as const, null),
    message: fc.oneof(anyText, fc.constant(',"transport":"tcp","session_id":"y\\\\"')),
  });
  fc.assert(
    fc.property(any, ({ message, ...fields }) => {
      const item = { ...logLine({ message }), ...fields };
      const json = logJson(item, JSON.stringify(item.scope), JSON.stringify(item.session_id));
      const frame = sseFrame('e-1', 'log', json);
      for (const field of ['scope', 'session_id', 'transport', 'direction'] as const) {
        expect(frameField(frame, field)).toBe(fields[field]);
      }
    }),
  );
});
