// What the packer makes is what lmdb decompresses: the tables are real.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BlockPacker } from '../../../src/journal/block-packer.js';
import { openTables, type Tables } from '../../../src/journal/tables.js';

let dir: string;
let tables: Tables;
beforeAll(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'drover-packer-'));
  tables = openTables(path.join(dir, 'journal.mdb'), 'never');
});
afterAll(async () => {
  await tables.close();
  rmSync(dir, { recursive: true, force: true });
});

/** One for all: what an earlier block has left in its memory must not matter. */
const packer = new BlockPacker();

/** As the recorder stores it, and the reader gets it. @returns how many bytes are stored. */
function roundTrip(bytes: Uint8Array): number {
  const packed = packer.pack(bytes);
  tables.commit(() => tables.packed.putSync(1, packed as Buffer));
  const read = tables.blocks.getBinary(1);
  expect(Buffer.compare(read as Buffer, bytes)).toBe(0);
  return packed.length;
}

/** A block's first byte is that of its magic number. */
const block = (...parts: readonly (string | Uint8Array)[]): Uint8Array =>
  new Uint8Array(Buffer.concat([Buffer.from('D'), ...parts.map((part) => Buffer.from(part))]));

/** Bytes that repeat at all distances, and bytes that do not. */
const part = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc
    .record({
      unit: fc.uint8Array({ minLength: 1, maxLength: 40 }),
      times: fc.integer({ min: 1, max: 200 }),
    })
    .map(({ unit, times }) => Buffer.concat(new Array(times).fill(unit))),
  fc.constantFrom('id: epoch-1\nevent: log\ndata: {"message":"x"}\n\n', '\0'.repeat(70_000)),
);

it('any bytes come back', () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => void roundTrip(block(...parts))),
  );
});

it('blocks of every small length come back', () => {
  for (let length = 0; length < 100; length++) {
    roundTrip(block('x'.repeat(length)));
    roundTrip(block(Buffer.from(Array.from({ length }, (_, at) => at))));
  }
});

it('a match may be as far back as LZ4 allows, and no farther', () => {
  const unit = Buffer.from('what comes again after a while');
  const noise = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * at * 31) >>> 7));
  for (const distance of [65_534, 65_535, 65_536, 65_537]) {
    roundTrip(block(unit, noise.subarray(0, distance - unit.length), unit, 'the end of it'));
  }
});

it('similar lines shrink to less than a tenth; what does not shrink is stored as it is', () => {
  const lines = Array.from(
    { length: 300 },
    (_, at) => `id: e-${100_000 + at}\ndata: ${'x'.repeat(200)}\n\n`,
  );
  const bytes = block(...lines);
  expect(roundTrip(bytes)).toBeLessThan(bytes.length / 10);
  let seed = 1;
  const random = (): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return seed >>> 16;
  };
  const noise = block(Buffer.from(Array.from({ length: 50_000 }, random)));
  expect(roundTrip(noise)).toBe(noise.length);
});

it('refuses what lmdb could not tell the length of', () => {
  expect(() => packer.pack(new Uint8Array(2 ** 24))).toThrow(RangeError);
});
