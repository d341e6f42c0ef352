import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type BlockHead, decodeBlock, decodeHead } from '../../../src/cluster-bus/block.js';
import { BlockWriter } from '../../../src/cluster-bus/block-writer.js';
import { PROTOCOL } from '../../../src/shared/cluster/names.js';

const HEAD: Omit<BlockHead, 'v' | 'count' | 'size'> = {
  node: 'h1',
  incarnation: 'one',
  type: 'frames',
  epoch: 'a1b2c3',
  first: 2 ** 40 + 1,
  next: 2 ** 40 + 3,
  at: { seq: 77, total: 2 ** 41 },
};
const name = fc.option(fc.string({ maxLength: 60, unit: 'grapheme' }), { nil: null });
const frame = fc.record({
  kind: fc.integer({ min: 0, max: 2 }),
  level: fc.integer({ min: 0, max: 4 }),
  session: name,
  scope: name,
  json: fc.string({ maxLength: 300, unit: 'grapheme' }),
});

it('frames come back with all that is said of them', () => {
  const writer = new BlockWriter();
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 60 }), (frames) => {
      for (const { kind, level, session, scope, json } of frames)
        writer.add(kind, level, session, scope, json);
      const { head, frames: read } = decodeBlock(writer.finish(HEAD));
      expect(head).toMatchObject({ v: PROTOCOL, ...HEAD, count: frames.length });
      expect(read).toEqual(frames);
    }),
  );
});

it('a block of a higher version, a damaged one, and another message are refused', () => {
  const writer = new BlockWriter();
  writer.add(0, 0, null, null, '{}');
  const bytes = Buffer.from(writer.finish(HEAD));
  const later = Buffer.from(bytes.toString('latin1').replace('"v":1', '"v":9'), 'latin1');
  expect(() => decodeHead(later)).toThrow('version 9 of the protocol');
  expect(() => decodeBlock(bytes.subarray(0, bytes.length - 3))).toThrow();
  expect(() => decodeHead(Buffer.alloc(20))).toThrow('not a block');
});

it('lines of bots take 0.15 of their bytes at most', () => {
  const writer = new BlockWriter();
  let random = 1;
  const next = (below: number): number => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
    return (random >>> 8) % below;
  };
  let bytes = 0;
  while (!writer.isFull) {
    const bot = `bot-${next(200)}`;
    const json = `{"timestamp_ms":${1_764_000_000_000 + writer.count},"level":"info","scope":"net.tcp","session_id":"${bot}","transport":"tcp","direction":"in","message":"packet 0x${next(256).toString(16)} of ${next(1500)} bytes, position ${next(100_000)}"}`;
    bytes += json.length;
    writer.add(0, 0, bot, 'net.tcp', json);
  }
  expect(writer.finish(HEAD).length / bytes).toBeLessThan(0.15);
});
