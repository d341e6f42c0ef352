// A block gives back exactly what was put into it.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Block } from '../../../src/journal/block.js';
import { BlockBuilder, type NameEntry } from '../../../src/journal/block-builder.js';
import { MAX_BLOCK_FRAMES } from '../../../src/journal/block-layout.js';

/** As the recorder does it: the bytes first. */
function add(builder: BlockBuilder, seq: number, text: string, ...rest: Rest): void {
  const bytes = builder.data.write(text, builder.end);
  builder.add(seq, bytes, ...rest);
}
type Rest = Parameters<BlockBuilder['add']> extends [unknown, unknown, ...infer R] ? R : never;

const name = (low: number): NameEntry => ({
  low,
  high: low * 7,
  next: undefined,
  stamp: 0,
  index: 0,
});
const sessions = Array.from({ length: 300 }, (_, at) => name(2 * at + 1));
const scopes = Array.from({ length: 20 }, (_, at) => name(1000 * at + 1));

const frame = fc.record({
  text: fc.string({ unit: 'grapheme', maxLength: 60 }),
  time: fc.integer({ min: 1_795_000_000_000, max: 1_795_900_000_000 }),
  kind: fc.integer({ min: 0, max: 2 }),
  level: fc.integer({ min: 0, max: 4 }),
  session: fc.option(fc.integer({ min: 0, max: 299 })),
  scope: fc.option(fc.integer({ min: 0, max: 19 })),
});

it('any frames, in blocks that use one builder in turn', () => {
  const builder = new BlockBuilder(1 << 20);
  const blocks = fc.tuple(fc.integer({ min: 1, max: 2 ** 50 }), fc.array(frame, { minLength: 1 }));
  fc.assert(
    fc.property(blocks, ([first, frames]) => {
      builder.reset();
      for (const [at, { text, time, kind, level, session, scope }] of frames.entries()) {
        add(
          builder,
          first + at,
          text,
          time,
          kind,
          level,
          session === null ? undefined : sessions[session],
          scope === null ? undefined : scopes[scope],
        );
      }
      const block = new Block(builder.encode(5));
      expect([block.first, block.count, block.next]).toEqual([
        first,
        frames.length,
        first + frames.length,
      ]);
      const times = frames.map(({ time }) => time);
      expect([block.lowest, block.highest, block.clock]).toEqual([
        Math.min(...times),
        Math.max(...times),
        Math.max(...times),
      ]);
      for (const [at, { text, time, kind, level, session, scope }] of frames.entries()) {
        const seq = first + at;
        expect(block.text(seq)).toBe(Buffer.from(text).toString());
        expect(block.length(seq)).toBe(Buffer.byteLength(text));
        expect([block.time(seq), block.kind(seq), block.level(seq)]).toEqual([time, kind, level]);
        const [low, high] = session === null ? [0, 0] : [2 * session + 1, (2 * session + 1) * 7];
        expect([block.sessionLow(seq), block.sessionHigh(seq)]).toEqual([low, high]);
        const scopeLow = scope === null ? 0 : 1000 * scope + 1;
        expect([block.scopeLow(seq), block.scopeHigh(seq)]).toEqual([scopeLow, scopeLow * 7]);
        expect(block.kinds & (1 << kind)).not.toBe(0);
        expect(block.levels & (1 << level)).not.toBe(0);
      }
    }),
  );
});

it('begins where its source is aligned, and is the same block for it', () => {
  const builder = new BlockBuilder(100);
  const ring = new Uint8Array(new SharedArrayBuffer(64));
  ring.fill(120);
  const encoded = Array.from({ length: 20 }, (_, place) => {
    const run = ring.subarray(place, place + 30);
    builder.reset();
    builder.align(run);
    expect(builder.end % 8).toBe(place % 8);
    builder.data.set(run, builder.end);
    for (let at = 0; at < 3; at++) {
      // Only the first frame says where the block begins.
      builder.align(ring.subarray(at));
      builder.add(1 + at, 10, 1, 0, 0, undefined, undefined);
    }
    expect(builder.fits(70)).toBe(true);
    expect(builder.fits(71)).toBe(false);
    builder.data.fill(121, builder.end, builder.end + 70);
    builder.add(4, 70, 1, 0, 0, undefined, undefined);
    return Buffer.from(builder.encode(1)).toString('latin1');
  });
  expect(new Set(encoded).size).toBe(1);
  const block = new Block(Buffer.from(encoded[0] ?? '', 'latin1'));
  expect([1, 2, 3].map((seq) => block.text(seq))).toEqual(new Array(3).fill('x'.repeat(10)));
  expect(block.text(4)).toBe('y'.repeat(70));
});

it('is full at so many frames, or when there is no room', () => {
  const builder = new BlockBuilder(10_000);
  for (let at = 0; at < MAX_BLOCK_FRAMES; at++) {
    expect(builder.fits(1)).toBe(true);
    add(builder, at + 1, 'x', 1, 0, 0, name(at * 2 + 1), undefined);
  }
  expect(builder.fits(1)).toBe(false);
  const block = new Block(builder.encode(0));
  expect(block.sessionLow(MAX_BLOCK_FRAMES)).toBe((MAX_BLOCK_FRAMES - 1) * 2 + 1);
  builder.reset();
  expect(builder.fits(10_000)).toBe(true);
  expect(builder.fits(10_001)).toBe(false);
});

it('refuses what is no block', () => {
  const builder = new BlockBuilder(1000);
  add(builder, 1, 'whole', 1, 0, 0, undefined, undefined);
  const bytes = builder.encode(0);
  expect(() => new Block(bytes.subarray(0, bytes.length - 1))).toThrow('no block');
  expect(() => new Block(new Uint8Array(100))).toThrow('no block');
  expect(() => new Block(new Uint8Array(0))).toThrow();
});
