// Run by vitest. What a group gathers is what its filter lets through, whole and in order, in pieces that fit a write.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Broadcaster } from '../../../src/broadcaster/broadcaster.js';
import { GatherArena } from '../../../src/front/stream/gather-arena.js';
import { SubscriberGroup } from '../../../src/front/stream/subscriber-group.js';
import type { Item } from '../../../src/shared/contract/events.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { MAX_FRAME_BYTES } from '../../../src/shared/memory/layout.js';
import { parseFilter } from '../../../src/shared/stream/filter.js';
import { LabelHistory } from '../../../src/shared/stream/label-history.js';
import { logLine, testRing } from '../shared/ring-fixture.js';

const names = new NameHasher('key');

function filled(items: readonly Item[]) {
  const { shared, reader } = testRing(4 * 1024 * 1024, 65_536);
  const broadcaster = new Broadcaster({ ring: shared, epoch: 'e', hashKey: 'key' }, () => {});
  const head = broadcaster.publish(items);
  return { reader, head };
}

const lines = fc.array(
  fc.record({ bot: fc.nat({ max: 3 }), length: fc.integer({ min: 0, max: 9000 }) }),
  { minLength: 1, maxLength: 120 },
);

const sessions = fc.constantFrom(null, 'b0', 'b0,b2', 'nobody');
const sizes = fc.constantFrom(1000, MAX_FRAME_BYTES, 4 * MAX_FRAME_BYTES);

describe('a group', () => {
  it('goes through the ring in whole frames, in pieces of the size that is asked for, until the head', () => {
    fc.assert(
      fc.property(lines, sessions, sizes, (entries, session, maxBytes) => {
        const { reader, head } = filled(
          entries.map(({ bot, length }) =>
            logLine({ session_id: `b${bot}`, message: 'm'.repeat(length) }),
          ),
        );
        const filter = session === null ? null : parseFilter([['session', session]], names);
        const group = new SubscriberGroup(reader, filter, new GatherArena());
        expect(reader.protect(1)).toBe(true);
        let expected = '';
        for (let seq = 1; seq < head; seq++) {
          if (filter?.matches(reader, seq) ?? true) expected += reader.text(seq);
        }
        let cursor = 1;
        let got = '';
        while (cursor < head) {
          const { bytes, next } = group.next(cursor, head, maxBytes);
          // One frame may be larger.
          if (group.frames > 1) expect(bytes.length).toBeLessThanOrEqual(maxBytes);
          expect(next).toBeGreaterThan(cursor);
          // Members at the same cursor get the same memory.
          expect(group.next(cursor, head, maxBytes).bytes).toBe(bytes);
          const piece = Buffer.from(bytes).toString();
          if (piece !== '') expect(piece.startsWith('id: ') && piece.endsWith('\n\n')).toBe(true);
          got += piece;
          cursor = next;
        }
        reader.release();
        expect(cursor).toBe(head);
        expect(got).toBe(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('serves members at different places, in any order', () => {
    const { reader, head } = filled(
      Array.from({ length: 50 }, (_, at) =>
        logLine({ session_id: at % 2 ? 'odd' : 'even', message: `${at}` }),
      ),
    );
    const filter = parseFilter([['session', 'odd']], names);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 2, max: head })), {
          minLength: 1,
        }),
        (places) => {
          const group = new SubscriberGroup(reader, filter, new GatherArena());
          expect(reader.protect(1)).toBe(true);
          for (const [from, to] of places) {
            if (from >= to) continue;
            let expected = '';
            for (let seq = from; seq < to; seq++) {
              if (filter?.matches(reader, seq)) expected += reader.text(seq);
            }
            const { bytes, next } = group.next(from, to, MAX_FRAME_BYTES);
            expect(Buffer.from(bytes).toString()).toBe(expected);
            expect(next).toBe(to);
          }
          reader.release();
        },
      ),
    );
  });

  it('gives up for now after many frames that do not match, with the cursor behind them', () => {
    const { reader, head } = filled(Array.from({ length: 20_000 }, () => logLine()));
    const group = new SubscriberGroup(
      reader,
      parseFilter([['session', 'nobody']], names),
      new GatherArena(),
    );
    const first = reader.tail();
    expect(reader.protect(first)).toBe(true);
    const { bytes, next } = group.next(first, head, MAX_FRAME_BYTES);
    reader.release();
    expect(bytes.length).toBe(0);
    expect(next).toBeGreaterThan(first);
    expect(next).toBeLessThan(head);
  });

  it('judges no frame before its labels are known, and then continues there', () => {
    const { reader, head } = filled(
      Array.from({ length: 20 }, (_, at) => logLine({ session_id: 'a', message: `${at}` })),
    );
    const history = new LabelHistory();
    history.set(names.of('a'), { team: 'x' }, 0, 0);
    const filter = parseFilter([], names, { labels: { team: 'x' }, history });
    const group = new SubscriberGroup(reader, filter, new GatherArena());
    expect(reader.protect(1)).toBe(true);
    history.known = 11;
    const first = group.next(1, head, MAX_FRAME_BYTES);
    expect(first.next).toBe(11);
    expect(group.next(11, head, MAX_FRAME_BYTES)).toMatchObject({ next: 11, bytes: { length: 0 } });
    // The bot had lost its labels when frame 15 came: this was unknown before.
    history.set(names.of('a'), { team: 'y' }, 15, 16);
    history.known = head;
    const second = group.next(11, head, MAX_FRAME_BYTES);
    expect(second.next).toBe(head);
    const ids = Buffer.from(second.bytes)
      .toString()
      .match(/^id: .*$/gm);
    expect(ids).toEqual([11, 12, 13, 14, 15].map((seq) => `id: e-${seq}`));
    reader.release();
  });

  it('hundreds of filters share the memory of one, and each gets its frames', () => {
    const bots = 500;
    const { reader, head } = filled(
      Array.from({ length: 3 * bots }, (_, at) =>
        logLine({ session_id: `b${at % bots}`, message: 'm'.repeat(300) }),
      ),
    );
    // Room for a good dozen of writes: most of what is gathered is overwritten before all have had theirs.
    const arena = new GatherArena(16 * MAX_FRAME_BYTES);
    const groups = Array.from({ length: bots }, (_, bot) => {
      const filter = parseFilter([['session', `b${bot}`]], names);
      return new SubscriberGroup(reader, filter, arena);
    });
    expect(reader.protect(1)).toBe(true);
    const before = process.memoryUsage().arrayBuffers;
    // Twice in the same order, so that none finds what it gathered the first time.
    for (let turn = 0; turn < 2; turn++) {
      for (const [bot, group] of groups.entries()) {
        const { bytes, next } = group.next(1, head, MAX_FRAME_BYTES);
        const ids = Buffer.from(bytes)
          .toString()
          .match(/^id: .*$/gm);
        expect(ids).toEqual([1, 1 + bots, 1 + 2 * bots].map((seq) => `id: e-${bot + seq}`));
        expect(next).toBe(head);
      }
    }
    reader.release();
    // Of each its own would be 31 MiB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 2 ** 20);
  });

  it('a round that ends in between loses no byte', () => {
    const { reader, head } = filled(
      Array.from({ length: 40 }, (_, at) =>
        logLine({ session_id: at % 2 ? 'odd' : 'even', message: `${at}`.padEnd(30_000, '.') }),
      ),
    );
    const expected = (session: string): string => {
      let text = '';
      const filter = parseFilter([['session', session]], names);
      for (let seq = 1; seq < head; seq++)
        if (filter?.matches(reader, seq)) text += reader.text(seq);
      return text;
    };
    // One write at a time has room; nothing that was gathered for one is still there when it is the other's turn.
    const arena = new GatherArena(MAX_FRAME_BYTES);
    const places = ['odd', 'even'].map((session) => ({
      session,
      group: new SubscriberGroup(reader, parseFilter([['session', session]], names), arena),
      // Two members of each, which take turns.
      members: [
        { cursor: 1, text: '' },
        { cursor: 1, text: '' },
      ],
    }));
    expect(reader.protect(1)).toBe(true);
    for (let turn = 0; turn < 40; turn++) {
      for (const at of [0, 1] as const) {
        for (const { group, members } of places) {
          const member = members[at];
          if (!member || member.cursor >= head) continue;
          const { bytes, next } = group.next(member.cursor, head, MAX_FRAME_BYTES);
          member.text += Buffer.from(bytes).toString();
          member.cursor = next;
        }
      }
    }
    for (const { session, members } of places) {
      for (const { text } of members) expect(text).toBe(expected(session));
    }
    reader.release();
  });
});
