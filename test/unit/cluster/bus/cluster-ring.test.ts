import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeBlock } from '../../../../src/cluster/bus/block.js';
import { BlockWriter } from '../../../../src/cluster/bus/block-writer.js';
import { ClusterRing, clusterFrame } from '../../../../src/cluster/bus/cluster-ring.js';
import { Sessions } from '../../../../src/cluster/bus/sessions.js';
import { NameHasher } from '../../../../src/shared/contract/name-hash.js';
import { RingReader } from '../../../../src/shared/memory/ring-reader.js';
import { eventId, KIND_CODE } from '../../../../src/shared/stream/frame.js';

const EPOCH = 'abcdef0123';
const HEAD = {
  node: 'h2',
  incarnation: 'one',
  type: 'frames' as const,
  epoch: 'e',
  first: 1,
  next: 1,
  at: { seq: 0, total: 0 },
};

const log = fc.record({
  kind: fc.constant(KIND_CODE.log),
  level: fc.integer({ min: 0, max: 3 }),
  session: fc.option(fc.constantFrom('one', 'two', 'drei'), { nil: null }),
  scope: fc.option(fc.constantFrom('net', 'bot'), { nil: null }),
  // Now and then larger than a piece.
  json: fc
    .oneof(
      { weight: 20, arbitrary: fc.string({ maxLength: 300, unit: 'grapheme' }) },
      { weight: 1, arbitrary: fc.nat({ max: 40_000 }).map((length) => 'x'.repeat(length)) },
    )
    .map((message) => JSON.stringify({ message })),
});
const session = fc.constantFrom('one', 'two').map((id) => ({
  kind: KIND_CODE.session,
  level: 4,
  session: id,
  scope: null,
  json: JSON.stringify({
    snapshot: { id, term: 1, kind: 'k', status: 'running', desired: 'running', labels: {} },
  }),
}));

it('every frame of a block is on the ring, with the id of the cluster and its names', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 12, arbitrary: log }, { weight: 1, arbitrary: session }), {
        maxLength: 120,
      }),
      // Numbers that get another digit, too.
      fc.constantFrom(1, 95, 9_990, 99_999_999),
      (frames, first) => {
        const writer = new BlockWriter();
        for (const { kind, level, session: id, scope, json } of frames) {
          writer.add(kind, level, id, scope, json);
        }
        const ring = new ClusterRing(EPOCH, first, 8 * 1024 * 1024, 1, new Sessions());
        ring.write(decodeBlock(writer.finish(HEAD)));
        ring.publish();
        const { ring: shared, hashKey } = ring.identity;
        const reader = new RingReader(shared, 0);
        const hasher = new NameHasher(hashKey);
        expect(reader.head()).toBe(first + frames.length);
        for (const [at, frame] of frames.entries()) {
          const seq = first + at;
          expect(reader.text(seq)).toBe(
            clusterFrame(eventId(EPOCH, seq), frame.kind, frame.json, HEAD.node),
          );
          expect(reader.kind(seq)).toBe(frame.kind);
          expect(reader.level(seq)).toBe(frame.level);
          const [low, high] = [reader.sessionLow(seq), reader.sessionHigh(seq)];
          const wanted = frame.session === null ? { low: 0, high: 0 } : hasher.once(frame.session);
          expect({ low, high }).toEqual(wanted);
          const scope = { low: reader.scopeLow(seq), high: reader.scopeHigh(seq) };
          expect(scope).toEqual(
            frame.scope === null ? { low: 0, high: 0 } : hasher.once(frame.scope),
          );
        }
      },
    ),
    { numRuns: 100 },
  );
});
