// Run by vitest. How large a write a stream may get, and what blocked streams may leave in the process.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatherArena } from '../../../src/front/stream/gather-arena.js';
import { Subscriber } from '../../../src/front/stream/subscriber.js';
import { SubscriberGroup } from '../../../src/front/stream/subscriber-group.js';
import { WriteSizes } from '../../../src/front/stream/write-sizes.js';
import { testRing } from '../shared/ring-fixture.js';
import { ModelSocket } from './fanout-fixture.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const SIZES = [16 * KIB, 64 * KIB, 128 * KIB, 256 * KIB];
const LARGEST = 256 * KIB;

const group = new SubscriberGroup(testRing(65_536, 64).reader, null, new GatherArena());

function subscriber(): Subscriber {
  return new Subscriber(new ModelSocket(), group, () => {});
}

/** A stream that has accepted so much that it gets the largest writes. */
function proven(sizes: WriteSizes): Subscriber {
  const stream = subscriber();
  for (let n = 0; n < 64; n++) sizes.accepted(stream, LARGEST);
  return stream;
}

describe('the size of a write', () => {
  it('grows with what a stream has accepted, and falls by one when it blocks', () => {
    const sizes = new WriteSizes({ sizes: SIZES, maxHeldBytes: 64 * MIB, shared: false });
    const stream = subscriber();
    expect(sizes.next(stream)).toBe(64 * KIB);
    const seen = new Set<number>();
    let accepted = 0;
    while (sizes.next(stream) < LARGEST) {
      const next = sizes.next(stream);
      seen.add(next);
      sizes.accepted(stream, next);
      accepted += next;
      // A client that never reads has blocked before: the system accepts a few megabytes for it.
      if (sizes.next(stream) >= 128 * KIB) expect(accepted).toBeGreaterThanOrEqual(4 * MIB);
    }
    expect([...seen]).toEqual([64 * KIB, 128 * KIB]);
    for (const after of [128 * KIB, 64 * KIB, 64 * KIB]) {
      sizes.blocked(stream, new Uint8Array(sizes.next(stream)));
      sizes.release(stream);
      expect(sizes.next(stream)).toBe(after);
    }
    sizes.accepted(stream, 64 * KIB);
    expect(sizes.next(stream)).toBe(64 * KIB);
  });

  it('when 1,000 block in the same moment, they hold no more than the limit and their smallest writes', () => {
    const sizes = new WriteSizes({ sizes: SIZES, maxHeldBytes: 64 * MIB, shared: false });
    const streams = Array.from({ length: 1000 }, () => proven(sizes));
    for (const stream of streams) sizes.blocked(stream, new Uint8Array(sizes.next(stream)));
    expect(sizes.heldBytes).toBeLessThanOrEqual(64 * MIB + 1000 * 16 * KIB);
    // Half of the last write remains of each on average.
    expect(sizes.heldBytes / 2 / 1000).toBeLessThanOrEqual(80_000);
    expect(sizes.next(proven(sizes))).toBe(16 * KIB);
    for (const stream of streams) sizes.release(stream);
    expect(sizes.heldBytes).toBe(0);
    expect(sizes.next(proven(sizes))).toBe(LARGEST);
  });

  it.each([50, 100, 300])('when %i block, they hold 80 KB each on average', (count) => {
    const sizes = new WriteSizes({ sizes: SIZES, maxHeldBytes: 64 * MIB, shared: false });
    for (let n = 0; n < count; n++) {
      const stream = proven(sizes);
      sizes.blocked(stream, new Uint8Array(sizes.next(stream)));
    }
    expect(sizes.heldBytes / 2 / count).toBeLessThanOrEqual(90_000);
  });

  it('an array that streams share counts once, until the last of them reads again', () => {
    const sizes = new WriteSizes({ sizes: SIZES, maxHeldBytes: 64 * MIB, shared: true });
    const bytes = new Uint8Array(LARGEST);
    const streams = Array.from({ length: 1000 }, () => proven(sizes));
    for (const stream of streams) sizes.blocked(stream, bytes);
    const other = proven(sizes);
    sizes.blocked(other, new Uint8Array(1000));
    expect(sizes.heldBytes).toBe(LARGEST + 1000);
    for (const stream of streams.slice(1)) sizes.release(stream);
    expect(sizes.heldBytes).toBe(LARGEST + 1000);
    sizes.release(streams[0] as Subscriber);
    sizes.release(other);
    expect(sizes.heldBytes).toBe(0);
  });

  it.each([true, false])(
    'nothing is counted twice or forgotten, in any order (shared: %s)',
    (shared) => {
      const action = fc.record({
        stream: fc.nat({ max: 5 }),
        what: fc.constantFrom('write', 'block', 'heartbeat', 'drain', 'go'),
      });
      fc.assert(
        fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
          const sizes = new WriteSizes({ sizes: SIZES, maxHeldBytes: MIB, shared });
          const streams = Array.from({ length: 6 }, () => proven(sizes));
          const held = new Map<Subscriber, Uint8Array>();
          const pieces = SIZES.map((size) => new Uint8Array(size));
          for (const { stream: at, what } of actions) {
            const stream = streams[at] as Subscriber;
            const size = sizes.next(stream);
            const piece = pieces[SIZES.indexOf(size)] as Uint8Array;
            expect(size === SIZES[0] || sizes.heldBytes + size <= MIB).toBe(true);
            if (what === 'write' && !held.has(stream)) sizes.accepted(stream, size);
            if (what === 'block' && !held.has(stream)) {
              sizes.blocked(stream, piece);
              held.set(stream, piece);
            }
            if (what === 'heartbeat' && held.has(stream)) sizes.blocked(stream, new Uint8Array(3));
            if (what === 'drain' || what === 'go') {
              sizes.release(stream);
              held.delete(stream);
            }
            const arrays = shared ? new Set(held.values()) : held.values();
            const sum = [...arrays].reduce((bytes, { length }) => bytes + length, 0);
            expect(sizes.heldBytes).toBe(sum);
          }
        }),
      );
    },
  );
});
