// The pieces of a stream that are not on the ring, and what a Last-Event-ID means.

import { createParser, type EventSourceMessage } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventId } from '../../../src/shared/stream/frame.js';
import {
  gapFrame,
  HEARTBEAT,
  positionComment,
  resumePoint,
  retryLine,
  snapshotFrame,
} from '../../../src/shared/stream/stream-text.js';
import { anyText } from './ring-fixture.js';

const EPOCH = '0123456789';
const epochs = fc.stringMatching(/^[0-9a-f]{10}$/);
const seqs = fc.integer({ min: 0, max: 2 ** 50 });

describe('resumePoint', () => {
  it('continues after an id that this numbering has used', () => {
    fc.assert(
      fc.property(seqs, fc.nat(), (seq, more) => {
        expect(resumePoint(eventId(EPOCH, seq), EPOCH, seq + 1 + more)).toEqual({
          kind: 'at',
          next: seq + 1,
        });
      }),
    );
  });

  it('declares ids of another numbering, and ids that were not given yet, as lost', () => {
    fc.assert(
      fc.property(epochs, seqs, fc.nat(), (epoch, seq, head) => {
        fc.pre(epoch !== EPOCH);
        const foreign = eventId(epoch, seq);
        expect(resumePoint(foreign, EPOCH, head)).toEqual({ kind: 'lost', from: foreign });
        const future = eventId(EPOCH, head + seq);
        expect(resumePoint(future, EPOCH, head)).toEqual({ kind: 'lost', from: future });
      }),
    );
  });

  it('takes what is not an id of ours for none, and never throws', () => {
    const malformed = [
      '',
      '-',
      '5',
      `${EPOCH}`,
      `${EPOCH}-`,
      `${EPOCH}--1`,
      `${EPOCH}-01`,
      `${EPOCH}-1.5`,
      `${EPOCH}-1e3`,
      `${EPOCH}-+1`,
      `${EPOCH}-0x10`,
      ` ${EPOCH}-1`,
      `${EPOCH}-1\n`,
      `${EPOCH}-1\0`,
      `${EPOCH.toUpperCase()}G-1`,
      `${EPOCH}-99999999999999999`,
      `${EPOCH}-NaN`,
      `${EPOCH}-Infinity`,
      `${'a'.repeat(33)}-1`,
      'x'.repeat(1_000_000),
      `${EPOCH}-${'9'.repeat(100_000)}`,
    ];
    for (const id of malformed) expect(resumePoint(id, EPOCH, 100)).toEqual({ kind: 'live' });
    fc.assert(
      fc.property(fc.oneof(anyText, fc.string({ unit: 'grapheme' })), (id) => {
        fc.pre(!/^[0-9a-f]{1,32}-(0|[1-9][0-9]{0,15})$/.test(id));
        expect(resumePoint(id, EPOCH, 100)).toEqual({ kind: 'live' });
      }),
    );
  });

  it('gives only places that a cursor can stand at', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-f]{1,3}-[0-9]{1,17}$/), fc.nat(), (id, head) => {
        const point = resumePoint(id, 'abc', head);
        if (point.kind !== 'at') return;
        expect(Number.isSafeInteger(point.next)).toBe(true);
        expect(point.next).toBeGreaterThan(0);
        expect(point.next).toBeLessThanOrEqual(head);
      }),
    );
  });
});

describe('what a client reads of them', () => {
  function read(text: string) {
    const events: EventSourceMessage[] = [];
    const comments: string[] = [];
    let retry: number | undefined;
    const parser = createParser({
      onEvent: (event) => events.push(event),
      onComment: (comment) => comments.push(comment),
      onRetry: (value) => {
        retry = value;
      },
      onError: (error) => expect.unreachable(error.message),
    });
    parser.feed(text);
    return { events, comments, retry };
  }

  it('is one gap event with the ids of the first and the last lost event', () => {
    fc.assert(
      fc.property(epochs, seqs, fc.option(fc.nat()), (epoch, seq, dropped) => {
        const from = eventId(epoch, seq);
        const { events } = read(gapFrame(epoch, from, seq + 10, dropped));
        expect(events).toHaveLength(1);
        expect(events[0]?.event).toBe('gap');
        // A client that reconnects now continues after the gap.
        expect(events[0]?.id).toBe(eventId(epoch, seq + 9));
        const data = JSON.parse(events[0]?.data ?? '') as object;
        expect(data).toEqual({ from, to: eventId(epoch, seq + 9), dropped });
      }),
    );
  });

  it('is no event for the position, the heartbeat and the retry line', () => {
    const text = retryLine(2000, 0, () => 0.5) + positionComment(EPOCH, 7) + HEARTBEAT.toString();
    const { events, comments, retry } = read(text);
    expect(events).toEqual([]);
    expect(comments).toEqual([`position ${EPOCH}-6`, '']);
    expect(retry).toBe(2000);
    // A blank line without data is a message for some clients.
    expect(text).not.toContain('\n\n');
  });

  it('is a retry within a quarter of what was asked for and the spread, a whole number', () => {
    const chance = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
    fc.assert(
      fc.property(fc.nat(), fc.nat(60_000), chance, chance, (ms, spreadMs, first, second) => {
        const randoms = [first, second];
        const { retry } = read(retryLine(ms, spreadMs, () => randoms.shift() ?? 0));
        expect(retry).toBeGreaterThanOrEqual(ms * 0.75 - 1);
        expect(retry).toBeLessThanOrEqual(ms * 1.25 + spreadMs + 1);
      }),
    );
  });

  it.each([
    ['all were told the same spread', () => 1],
    ['the spread grew from nothing while they came', (share: number) => share],
  ])('brings a crowd back at twice the average rate at most: %s', (_, spreadOf) => {
    const crowd = 20_000;
    const spreadMs = 10_000;
    const perTenth = new Array<number>(11).fill(0);
    for (let n = 0; n < crowd; n++) {
      // Even steps instead of chance: the golden ratio's multiples fill the interval evenly.
      const { retry = 0 } = read(
        retryLine(0, spreadOf(n / crowd) * spreadMs, () => (n * 0.618_033_988_75) % 1),
      );
      const tenth = Math.floor(retry / (spreadMs / 10));
      perTenth[tenth] = (perTenth[tenth] ?? 0) + 1;
    }
    expect(Math.max(...perTenth)).toBeLessThanOrEqual((2.05 * crowd) / 10);
  });

  it('is a session event without an id for a snapshot', () => {
    fc.assert(
      fc.property(anyText, (id) => {
        const json = JSON.stringify({ snapshot: { id } });
        const { events } = read(snapshotFrame(json));
        expect(events).toEqual([{ event: 'session', id: undefined, data: json }]);
      }),
    );
  });
});
