// Run by vitest. What a stream gets first, and where a replay may end.

import { expect, it } from 'vitest';
import { StreamStarts } from '../../../src/front/stream/stream-starts.js';
import { FRONT_CELLS } from '../../../src/shared/contract/metric-layout.js';
import { Counters } from '../../../src/shared/memory/counters.js';
import { logLine } from '../shared/ring-fixture.js';
import { EPOCH, TestFront } from './fanout-fixture.js';

const MAX_WRITE = 1_000;

function startsOn(front: TestFront): StreamStarts {
  return new StreamStarts({
    reader: front.reader,
    maxWriteBytes: MAX_WRITE,
    epoch: EPOCH,
    isShared: false,
    snapshots: { frames: () => ({ parts: [], last: '', next: front.head }) } as never,
    counters: Counters.alone(FRONT_CELLS.http),
  });
}

function bot(id: string) {
  return { kind: 'session' as const, id, patch: { status: 'running' } };
}

it('a stream begins with one write, if its snapshots fit', async () => {
  const front = new TestFront(65_536, 1024);
  front.publish([bot('a'), bot('b'), bot('c')]);
  const { socket } = front.open();
  await front.settle();
  expect(socket.chunks).toHaveLength(1);
  expect(socket.text).toMatch(/^retry: 1000\n(event: session\n.*\n\n){2}id: \S+\nevent: session\n/);
  front.fanout.stop();
});

it('a replay ends anywhere on a ring that is not half full, else in its newer half', () => {
  const front = new TestFront(65_536, 1024);
  const starts = startsOn(front);
  const line = logLine({
    session_id: null,
    level: 'info',
    scope: 'tcp',
    message: 'm'.repeat(100),
  });
  front.publish(Array.from({ length: 20 }, () => line));
  const first = front.reader.tail();
  expect(starts.isOnRing(first, null)).toBe(true);
  front.publish(Array.from({ length: 130 }, () => line));
  expect(front.reader.tail()).toBe(first);
  expect(front.reader.used().bytes).toBeGreaterThan(front.reader.capacity / 2);
  expect(starts.isOnRing(first, null)).toBe(false);
  expect(starts.isOnRing(front.head - 20, null)).toBe(true);
  expect(starts.isOnRing(first - 1, null)).toBe(false);
  front.fanout.stop();
});
