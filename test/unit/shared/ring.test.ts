// Ring writer and ring reader in one thread, beside a list of all frames that were ever written.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createRing,
  type FrameMeta,
  IDLE,
  MAX_FRAME_BYTES,
  openRing,
  readingCell,
  slotsFor,
} from '../../../src/shared/memory/layout.js';
import { RingReader, releaseReader } from '../../../src/shared/memory/ring-reader.js';
import { RingWriter } from '../../../src/shared/memory/ring-writer.js';
import { NO_META, testRing } from './ring-fixture.js';

/** Every frame tells its number and fills up with what takes one to four bytes a character. */
function frameText(seq: number, length: number): string {
  const fill = ['a', 'é', '€', '😀'][seq % 4] as string;
  return `${seq}|${fill.repeat(length)}|\n`;
}

function metaOf(seq: number): FrameMeta {
  return {
    kind: seq % 3,
    level: seq % 5,
    sessionLow: seq >>> 0,
    sessionHigh: 0xffffffff - (seq >>> 0),
    scopeLow: Math.imul(seq, 2654435761) >>> 0,
    scopeHigh: seq % 7,
    node: seq % 65_536,
  };
}

type Step =
  | { do: 'append'; lengths: number[] }
  | { do: 'piece'; lengths: number[] }
  | { do: 'publish' }
  | { do: 'read'; reader: number; maxBytes: number }
  | { do: 'reopen' };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constantFrom('append' as const, 'piece' as const),
        lengths: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 12 }),
      }),
    },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('publish' as const) }) },
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('read' as const),
        reader: fc.nat({ max: 2 }),
        maxBytes: fc.integer({ min: 300, max: 2000 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
  ),
  { maxLength: 120, size: 'max' },
);

describe('a ring against a list of all frames', () => {
  it('gives each cursor contiguous whole frames in order, or says that it was lapped', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1000, max: 4000 }),
        fc.constantFrom(1, 2, 16, 64, 1024),
        fc.constantFrom(0, 1, 1000, 2 ** 31 - 20, 2 ** 32 - 20, 2 ** 45),
        steps,
        (bytes, slots, first, script) => {
          const { shared, writer: opened, reader } = testRing(bytes, slots, first);
          let writer = opened;
          /** What was written under each number; an unpublished frame of a dead writer is replaced or stays unseen. */
          const written = new Map<number, string>();
          const cursors = [first, first, first];
          let lastTail = first;

          for (const step of script) {
            if (step.do === 'append') {
              for (const length of step.lengths) {
                const seq = writer.next;
                const text = frameText(seq, length);
                writer.append(text, metaOf(seq));
                expect(writer.next).toBe(seq + 1);
                written.set(seq, text);
              }
            } else if (step.do === 'piece') {
              const most = writer.maxPiece;
              const lengths = new Uint32Array(most.frames);
              const from = writer.next;
              let count = 0;
              let piece = Buffer.alloc(0);
              for (const length of step.lengths) {
                const frame = Buffer.from(frameText(from + count, length));
                const isFull = count === most.frames || piece.length + frame.length > most.bytes;
                if (count > 0 && isFull) break;
                written.set(from + count, frame.toString());
                lengths[count++] = frame.length;
                piece = Buffer.concat([piece, frame]);
              }
              writer.appendPiece(piece, lengths, count, (at) => metaOf(from + at));
              expect(writer.next).toBe(from + count);
            } else if (step.do === 'publish') {
              expect(writer.publish()).toEqual([]);
              expect(reader.head()).toBe(writer.next);
            } else if (step.do === 'reopen') {
              const head = reader.head();
              const tail = reader.tail();
              writer = new RingWriter(shared);
              // Numbers of frames that were given up unpublished are used up; others come again.
              expect(writer.next).toBe(Math.max(head, tail));
              expect(reader.head()).toBe(head);
              expect(reader.tail()).toBe(tail);
            } else {
              const head = reader.head();
              const cursor = cursors[step.reader] as number;
              if (cursor >= head) continue;
              const lapped = !reader.protect(cursor);
              expect(lapped).toBe(cursor < reader.tail());
              if (lapped) {
                cursors[step.reader] = Math.max(reader.tail(), cursor + 1);
                continue;
              }
              const slice = reader.slice(cursor, head, step.maxBytes);
              const expected = [];
              for (let seq = cursor; seq < slice.next; seq++) expected.push(written.get(seq));
              expect(slice.next).toBeGreaterThan(cursor);
              expect(slice.next).toBeLessThanOrEqual(head);
              expect(Buffer.from(slice.bytes).toString()).toBe(expected.join(''));
              expect(slice.bytes.length).toBeLessThanOrEqual(step.maxBytes);
              // As long as it can be: the next frame would be too much, or lies at the ring's other end.
              if (slice.next < head) {
                const position = reader.position(slice.next);
                const follows = position === reader.end(slice.next - 1) && position % bytes !== 0;
                const length = Buffer.byteLength(written.get(slice.next) ?? '');
                expect(follows && slice.bytes.length + length <= step.maxBytes).toBe(false);
              }
              for (let seq = cursor; seq < slice.next; seq++) {
                const text = written.get(seq) as string;
                expect(reader.text(seq)).toBe(text);
                expect(Buffer.from(reader.frame(seq)).toString()).toBe(text);
                expect(reader.length(seq)).toBe(Buffer.byteLength(text));
                expect({
                  kind: reader.kind(seq),
                  level: reader.level(seq),
                  sessionLow: reader.sessionLow(seq),
                  sessionHigh: reader.sessionHigh(seq),
                  scopeLow: reader.scopeLow(seq),
                  scopeHigh: reader.scopeHigh(seq),
                  node: reader.node(seq),
                }).toEqual(metaOf(seq));
              }
              reader.release();
              cursors[step.reader] = slice.next;
            }
            const tail = reader.tail();
            expect(tail).toBeGreaterThanOrEqual(lastTail);
            expect(tail).toBeLessThanOrEqual(writer.next);
            expect(writer.next - tail).toBeLessThanOrEqual(slots);
            lastTail = tail;
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('refuses a piece of one frame that is larger than the largest frame, and stays as it was', () => {
    const { writer, reader } = testRing(2 * MAX_FRAME_BYTES, 64);
    const piece = Buffer.alloc(MAX_FRAME_BYTES + 1);
    const lengths = new Uint32Array([piece.length]);
    expect(() => writer.appendPiece(piece, lengths, 1, () => NO_META)).toThrow('is too large');
    writer.publish();
    expect([writer.next, reader.head()]).toEqual([1, 1]);
  });

  it('keeps as many frames as fit: what it gives up is at most what it needs and a sixteenth more', () => {
    const { writer, reader } = testRing(16_384, 1024);
    for (let seq = 1; seq <= 2000; seq++) {
      writer.append('x'.repeat(100), NO_META);
      writer.publish();
    }
    const kept = 100 * (reader.head() - reader.tail());
    expect(kept).toBeGreaterThan(16_384 * (1 - 1 / 16) - 4 * 300);
    expect(kept).toBeLessThanOrEqual(16_384);
  });
});

describe('a burst that is larger than the ring', () => {
  it('shows readers an empty ring until it is published, then its end', () => {
    const { writer, reader } = testRing(2048, 64);
    writer.append(frameText(1, 10), NO_META);
    writer.publish();
    for (let seq = 2; seq <= 200; seq++) writer.append(frameText(seq, 30), NO_META);
    expect(reader.head()).toBe(2);
    expect(reader.tail()).toBeGreaterThan(2);
    expect(reader.protect(1)).toBe(false);
    writer.publish();
    expect(reader.head()).toBe(201);
    const tail = reader.tail();
    expect(reader.protect(tail)).toBe(true);
    for (let seq = tail; seq < 201; seq++) expect(reader.text(seq)).toBe(frameText(seq, 30));
    reader.release();
  });

  it('keeps its end whole when there are more records than bytes', () => {
    const { writer, reader } = testRing(8192, 1024);
    for (let seq = 1; seq <= 200; seq++) writer.append(frameText(seq, 60), NO_META);
    writer.publish();
    const tail = reader.tail();
    expect(tail).toBeLessThan(201);
    expect(reader.protect(tail)).toBe(true);
    for (let seq = tail; seq < 201; seq++) expect(reader.text(seq)).toBe(frameText(seq, 60));
    reader.release();
  });

  it('uses the numbers up when the writer dies in it', () => {
    const { shared, writer, reader } = testRing(2048, 64);
    for (let seq = 1; seq <= 200; seq++) writer.append(frameText(seq, 30), NO_META);
    const next = new RingWriter(shared);
    expect(next.next).toBe(reader.tail());
    const seq = next.next;
    next.append(frameText(seq, 5), NO_META);
    next.publish();
    // A reader that waits for the first of the lost frames is lapped.
    expect(reader.protect(1)).toBe(false);
    expect(reader.protect(seq)).toBe(true);
    expect(reader.text(seq)).toBe(frameText(seq, 5));
    reader.release();
  });
});

describe('one frame', () => {
  it('may have the largest size to the byte, and not one byte more', () => {
    const { writer, reader } = testRing(4 * MAX_FRAME_BYTES, 1024);
    for (const fill of ['a', 'é', '€', '😀']) {
      const length = Buffer.byteLength(fill);
      const text = fill.repeat(Math.floor(MAX_FRAME_BYTES / length));
      const full = text + 'a'.repeat(MAX_FRAME_BYTES - Buffer.byteLength(text));
      const seq = writer.next;
      writer.append(full, NO_META);
      expect(() => writer.append(`${full}a`, NO_META)).toThrow(RangeError);
      expect(writer.next).toBe(seq + 1);
      writer.publish();
      expect(reader.protect(seq)).toBe(true);
      expect(reader.text(seq)).toBe(full);
      expect(reader.slice(seq, seq + 1, MAX_FRAME_BYTES).bytes.length).toBe(MAX_FRAME_BYTES);
      reader.release();
    }
  });

  it('is written with U+FFFD for a lone surrogate, and its length is still right', () => {
    const { writer, reader } = testRing(2048, 16);
    const text = 'a\ud83db\ude00c';
    writer.append(text, NO_META);
    writer.publish();
    expect(reader.protect(1)).toBe(true);
    expect(reader.text(1)).toBe('a\ufffdb\ufffdc');
    expect(reader.length(1)).toBe(Buffer.byteLength(text));
    reader.release();
  });
});

describe('protect and release', () => {
  it('names the lowest frame that is read, and nothing when nothing is', () => {
    const { shared, writer, reader } = testRing(4096, 64);
    for (let seq = 1; seq <= 10; seq++) writer.append(frameText(seq, 5), NO_META);
    writer.publish();
    const { cells } = openRing(shared);
    const reading = () => cells[readingCell(0)];
    expect(reading()).toBe(IDLE);
    expect(reader.protect(5)).toBe(true);
    expect(reading()).toBe(5n);
    expect(reader.protect(8)).toBe(true);
    expect(reading()).toBe(5n);
    expect(reader.protect(2)).toBe(true);
    expect(reading()).toBe(2n);
    reader.release();
    expect(reading()).toBe(IDLE);
    reader.release();
    expect(reading()).toBe(IDLE);
  });

  it('leaves what was protected before in place when a lower frame is gone', () => {
    const { shared, writer, reader } = testRing(1024, 64);
    for (let seq = 1; seq <= 100; seq++) writer.append(frameText(seq, 20), NO_META);
    writer.publish();
    const tail = reader.tail();
    const { cells } = openRing(shared);
    expect(reader.protect(tail - 1)).toBe(false);
    expect(cells[readingCell(0)]).toBe(IDLE);
    expect(reader.protect(tail + 2)).toBe(true);
    expect(reader.protect(tail - 1)).toBe(false);
    expect(cells[readingCell(0)]).toBe(BigInt(tail + 2));
    reader.release();
  });

  it('is undone by main for a front that died', () => {
    const { shared, writer, reader } = testRing(1024, 16);
    writer.append('x\n', NO_META);
    writer.publish();
    expect(reader.protect(1)).toBe(true);
    expect(reader.arm(2)).toBe(true);
    releaseReader(shared, 0);
    expect(openRing(shared).cells[readingCell(0)]).toBe(IDLE);
    expect(writer.publish()).toEqual([]);
  });
});

describe('the doorbell', () => {
  it('names each front once for each time that it went to sleep', () => {
    const shared = createRing({ bytes: 4096, slots: 64, fronts: 3 }, 1);
    const writer = new RingWriter(shared);
    const readers = [0, 1, 2].map((front) => new RingReader(shared, front));
    expect(readers[0]?.arm(1)).toBe(true);
    expect(readers[2]?.arm(1)).toBe(true);
    writer.append('a\n', NO_META);
    expect(writer.publish()).toEqual([0, 2]);
    writer.append('b\n', NO_META);
    expect(writer.publish()).toEqual([]);
    // Who has not seen the news may not sleep, and is not woken.
    expect(readers[1]?.arm(1)).toBe(false);
    expect(writer.publish()).toEqual([]);
    expect(readers[1]?.arm(3)).toBe(true);
    expect(writer.publish()).toEqual([1]);
  });

  it('of a front that sleeps for a step rings rarely, and before the front is lapped', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(256, 1024),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 3 }),
        (slots, length, perPublish) => {
          const { writer, reader } = testRing(65_536, slots);
          let seen = reader.head();
          let publishes = 0;
          let rings = 0;
          reader.armForStep();
          for (let at = 0; at < 3000; at++) {
            for (let n = 0; n < perPublish; n++) writer.append(frameText(at, length), NO_META);
            publishes += 1;
            if (writer.publish().length === 0) continue;
            rings += 1;
            expect(reader.protect(seen)).toBe(true);
            reader.release();
            seen = reader.head();
            reader.armForStep();
          }
          expect(rings).toBeGreaterThan(0);
          expect(publishes / rings).toBeGreaterThan(3);
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('the layout', () => {
  it('takes only powers of two as number of slots, and has them for every ring size', () => {
    expect(() => createRing({ bytes: 4096, slots: 48, fronts: 1 }, 1)).toThrow(RangeError);
    expect(() => createRing({ bytes: 4096, slots: 0, fronts: 1 }, 1)).toThrow(RangeError);
    fc.assert(
      fc.property(fc.integer({ min: 262_144, max: 2 ** 32 }), (bytes) => {
        const slots = slotsFor(bytes);
        expect(Number.isInteger(Math.log2(slots))).toBe(true);
        expect(slots * 256).toBeGreaterThanOrEqual(bytes);
      }),
    );
  });

  it('gives each front its own cells', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), (fronts) => {
        const shared = createRing({ bytes: 1024, slots: 16, fronts }, 7);
        const { cells } = openRing(shared);
        const readers = Array.from({ length: fronts }, (_, front) => new RingReader(shared, front));
        const writer = new RingWriter(shared);
        writer.append('x', NO_META);
        writer.publish();
        for (const reader of readers) expect(reader.protect(7)).toBe(true);
        expect([...cells].filter((cell) => cell === 7n).length).toBe(fronts + 1);
        for (const reader of readers) reader.release();
        expect([...cells].filter((cell) => cell === IDLE).length).toBe(fronts);
      }),
      { numRuns: 20 },
    );
  });
});
