// The client's parser, compared with eventsource-parser and checked against the grammar (HTML Standard, 9.2.6).

import { createParser, type EventSourceMessage } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SseFrame, SseParser } from '../../../src/client/sse-parser.js';

const ROOM = 1_000_000;

/** Parses the bytes in chunks of the given size. */
function parse(text: string, pieceBytes: number): { frames: SseFrame[]; parser: SseParser } {
  const parser = new SseParser(ROOM);
  const decoder = new TextDecoder();
  const bytes = new TextEncoder().encode(text);
  const frames: SseFrame[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.subarray(at, at + pieceBytes);
    frames.push(...parser.feed(decoder.decode(piece, { stream: true })));
  }
  return { frames, parser };
}

/** The same with the library. */
function reference(text: string): { frames: object[]; retryMs: number | undefined } {
  const messages: EventSourceMessage[] = [];
  let retryMs: number | undefined;
  const parser = createParser({
    onEvent: (message) => messages.push(message),
    onRetry: (ms) => {
      retryMs = ms;
    },
  });
  parser.feed(text);
  const frames = messages.map(({ event = '', data, id = null }) => ({ event, data, id }));
  return { frames, retryMs };
}

const value = fc.oneof(
  fc.string({ maxLength: 12 }).map((text) => text.replace(/[\r\n]/g, '')),
  fc.constantFrom('', ' two  spaces', '{"a":"b: c"}', 'äöü 🐑', 'nul\0', '12', '1e3', ':'),
);
const line = fc.oneof(
  fc
    .tuple(fc.constantFrom('data', 'event', 'id', 'retry', 'other', ''), value)
    .chain(([name, text]) =>
      fc.constantFrom(`${name}: ${text}`, `${name}:${text}`, name, `${name} ${text}`),
    ),
  fc.constant(''),
);
const stream = fc
  .tuple(fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 24 }))
  // A final line, so that the library knows that no LF follows a CR at the end.
  .map(([lines]) => `${lines.map(([text, end]) => text + end).join('')}data: end\n\n`);

describe('the parser of the client', () => {
  it('gives the same result as eventsource-parser, for any chunk size', () => {
    fc.assert(
      fc.property(stream, fc.integer({ min: 1, max: 40 }), (text, pieceBytes) => {
        const expected = reference(text);
        for (const size of [1, pieceBytes, text.length * 4]) {
          const { frames, parser } = parse(text, size);
          expect(frames.map(({ idBefore: _, ...frame }) => frame)).toEqual(expected.frames);
          expect(parser.retryMs).toBe(expected.retryMs);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('has the position of a comment, which is no event and needs no blank line', () => {
    for (const pieceBytes of [1, 100]) {
      const { frames, parser } = parse(
        'retry: 2021\n: position ab-7\n:\n:position x\n',
        pieceBytes,
      );
      expect(frames).toEqual([]);
      expect(parser.lastId).toBe('ab-7');
      expect(parser.retryMs).toBe(2021);
    }
  });

  it('has the id of a block without data, which is no event', () => {
    const { frames, parser } = parse('id: ab-7\n\n', 1);
    expect([frames, parser.lastId]).toEqual([[], 'ab-7']);
  });

  it('has the position before each event', () => {
    const { frames } = parse('data: 1\n\nid: a\ndata: 2\n\n: position b\nid: c\ndata: 3\n\n', 7);
    expect(frames.map(({ id, idBefore }) => [id, idBefore])).toEqual([
      [null, null],
      ['a', null],
      ['c', 'b'],
    ]);
  });

  it('takes an id only when its block has ended', () => {
    const parser = new SseParser(ROOM);
    parser.feed('id: a-1\ndata: x\n\nid: a-2\ndata: y');
    expect(parser.lastId).toBe('a-1');
    expect(parser.feed('\n')).toEqual([]);
    expect(parser.feed('\n')).toEqual([{ event: '', data: 'y', id: 'a-2', idBefore: 'a-1' }]);
    expect(parser.lastId).toBe('a-2');
  });

  it.each([
    ['one line', 'data: 0123456789012345678901234567890'],
    ['many lines', 'data: 0123456789\n'.repeat(4)],
  ])('never buffers more than its limit, in %s', (_, text) => {
    for (const pieceBytes of [1, 7, 1000]) {
      const parser = new SseParser(30);
      const feed = (): void => {
        for (let at = 0; at < text.length; at += pieceBytes) {
          parser.feed(text.slice(at, at + pieceBytes));
        }
      };
      expect(feed).toThrow(new RangeError('an event of the stream is longer than 30 characters'));
    }
  });

  it('keeps parsing events that are short enough', () => {
    const parser = new SseParser(30);
    for (let n = 0; n < 100; n++) {
      expect(parser.feed('id: 1\nda')).toEqual([]);
      expect(parser.feed('ta: 0123456789\n\n')).toHaveLength(1);
    }
  });
});
