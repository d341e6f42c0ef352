import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type BlockHead, decodeBlock, gapBlock } from '../../../../src/cluster/bus/block.js';
import { BlockWriter } from '../../../../src/cluster/bus/block-writer.js';
import { PROTOCOL } from '../../../../src/cluster/wire/names.js';
import { DroverError } from '../../../../src/shared/errors.js';

const HEAD: Omit<BlockHead, 'v' | 'count' | 'size'> = {
  node: 'h1',
  incarnation: 'one',
  type: 'frames',
  epoch: 'a1b2c3',
  first: 2 ** 40 + 1,
  next: 2 ** 40 + 3,
  at: { seq: 77, total: 2 ** 41 },
};
const SESSION = JSON.stringify({
  snapshot: { id: 'bot-1', kind: 'k', status: 'online', desired: 'running', labels: {}, data: {} },
});
const name = fc.option(fc.string({ maxLength: 60, unit: 'grapheme' }), { nil: null });
const frame = fc.record({
  kind: fc.constantFrom(0, 2),
  level: fc.integer({ min: 0, max: 4 }),
  session: name,
  scope: name,
  json: fc
    .string({ maxLength: 300, unit: 'grapheme' })
    .map((message) => JSON.stringify({ message })),
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
  expect(() => decodeBlock(later)).toThrow('version 9 of the protocol');
  for (let length = 0; length < bytes.length; length++)
    expect(() => decodeBlock(bytes.subarray(0, length))).toThrow('it is no');
  expect(() => decodeBlock(Buffer.alloc(20))).toThrow('it is no block of Drover');
});

it('what has been changed is a block with other frames, or none', () => {
  const writer = new BlockWriter();
  for (let n = 0; n < 20; n++) writer.add(n % 2 ? 0 : 2, 4, `bot-${n}`, null, `{"message":"${n}"}`);
  const bytes = Buffer.from(writer.finish(HEAD));
  for (let at = 0; at < bytes.length * 8; at++) {
    const changed = Buffer.from(bytes);
    changed[at >> 3] = (changed[at >> 3] as number) ^ (1 << (at & 7));
    try {
      const { head, frames } = decodeBlock(changed);
      expect(frames).toHaveLength(head.count);
      for (const { json } of frames) expect(json).toMatch(/^\{.*\}$/);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(DroverError);
    }
  }
});

it.each([
  ['a kind that there is not', { kind: 9 }],
  ['a line break, which would begin another event', { json: '{"a":\n1}' }],
  ['no object', { json: '1' }],
  ['a gap that is no JSON', { kind: 2, json: '{x}' }],
  ['a snapshot without labels', { kind: 1, json: '{"snapshot":{"id":"a","labels":null}}' }],
  ['a snapshot with an id that is a path', { kind: 1, json: SESSION.replace('bot-1', '../../x') }],
])('frames of blocks are no blocks with %s', (_, changed) => {
  const one = { kind: 1, json: SESSION, ...changed };
  const writer = new BlockWriter();
  writer.add(one.kind, 4, null, null, one.json);
  expect(() => decodeBlock(writer.finish(HEAD))).toThrow(DroverError);
  writer.add(1, 4, null, null, SESSION);
  expect(decodeBlock(writer.finish(HEAD)).frames).toHaveLength(1);
});

it('a gap stands for a message that is no block', () => {
  const { head, frames } = gapBlock().checked();
  expect(head).toMatchObject({ type: 'none', node: '', count: 1 });
  expect(frames).toEqual([{ kind: 2, level: 4, session: null, scope: null, json: '{}' }]);
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
