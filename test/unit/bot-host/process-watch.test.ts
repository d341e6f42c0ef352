import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ProcessWatch } from '../../../src/bot-host/process-watch.js';
import { Heartbeat } from '../../../src/shared/memory/heartbeat.js';
import { InFlight } from '../../../src/shared/memory/in-flight.js';
import { LastRun } from '../../../src/shared/memory/last-run.js';
import { createLease, LeaseDeadline } from '../../../src/shared/memory/lease-deadline.js';
import { createLags, LoopLag } from '../../../src/shared/memory/loop-lag.js';
import { createQuota, Quota } from '../../../src/shared/memory/quota.js';
import { FrameReader } from '../../../src/shared/pipe/frame-reader.js';
import { header, LINK, packMessage, unpackMessage } from '../../../src/shared/pipe/frames.js';
import type { FromWatch, ToWatch } from '../../../src/shared/pipe/messages.js';
import { PATIENCE_MS } from '../../harness/patience.js';

let sent: FromWatch[];
let cells: ConstructorParameters<typeof ProcessWatch>[0];
let watch: ProcessWatch;

beforeEach(() => {
  vi.useFakeTimers();
  sent = [];
  cells = {
    heartbeat: Heartbeat.create(),
    lastRun: LastRun.create(),
    lag: { buffer: createLags(1), block: 0 },
    streams: createQuota({ total: 1 }, 1),
    lease: createLease(),
  };
  const reader = new FrameReader((_, bytes) => sent.push(unpackMessage(bytes) as FromWatch));
  const pipe = { write: (bytes: Uint8Array) => reader.push(bytes) };
  const stack = { frames: [], bot: 'a' };
  watch = new ProcessWatch(cells, pipe as never, async () => stack);
});
afterEach(() => {
  vi.useRealTimers();
});

function hear(message: ToWatch): void {
  const bytes = packMessage(message);
  watch.receive(Buffer.concat([header(LINK, bytes.length), bytes]));
}

it('sends the cells while the host is awake, once more when it is not, and then has no timer', () => {
  const heartbeat = new Heartbeat(cells.heartbeat);
  heartbeat.isAwake = true;
  watch.note('awake');
  expect(sent).toHaveLength(1);
  new LoopLag(cells.lag).observe(0.02);
  vi.advanceTimersByTime(50);
  expect(sent).toHaveLength(2);
  expect(sent[1]).toMatchObject({ lag: { sum: 0.02 } });
  vi.advanceTimersByTime(50);
  // What was sent is not sent again.
  expect(sent[2]).toMatchObject({ lag: { sum: 0 } });
  heartbeat.isAwake = false;
  vi.advanceTimersByTime(50);
  expect(sent).toHaveLength(4);
  expect(vi.getTimerCount()).toBe(0);
});

it('what the broadcaster has taken is no longer in flight, of the present channel', () => {
  const buffer = InFlight.create();
  const inFlight = new InFlight(buffer);
  inFlight.add(1000);
  // The relay may be faster than the main thread.
  hear({ type: 'taken', channel: 2, bytes: 100 });
  watch.note({ channel: 2, inFlight: buffer });
  expect(inFlight.bytes).toBe(900);
  hear({ type: 'taken', channel: 2, bytes: 300 });
  expect(inFlight.bytes).toBe(700);
  const next = InFlight.create();
  new InFlight(next).add(500);
  watch.note({ channel: 5, inFlight: next });
  hear({ type: 'taken', channel: 2, bytes: 1000 });
  expect(new InFlight(next).bytes).toBe(500);
  hear({ type: 'taken', channel: 5, bytes: 500 });
  expect(new InFlight(next).bytes).toBe(0);
});

it('knows whether a stream is open', () => {
  const streams = new Quota(cells.streams, 0);
  for (const open of [true, true, false, false, true]) {
    hear({ type: 'streams', open });
    expect(streams.total()).toBe(open ? 1 : 0);
  }
});

it('answers where the main thread is', async () => {
  hear({ type: 'capture', id: 3, withinMs: 10 });
  await vi.waitFor(
    () => expect(sent.at(-1)).toEqual({ type: 'captured', id: 3, frames: [], bot: 'a' }),
    PATIENCE_MS,
  );
});

it('keeps the lease of the node, which has passed until it is told', () => {
  vi.useRealTimers();
  const deadline = new LeaseDeadline(cells.lease);
  expect(deadline.hasPassed).toBe(true);
  const { monotonicMs, wallMs } = deadline.now();
  hear({ type: 'lease', until: { monotonicMs: monotonicMs + 60_000, wallMs: wallMs + 60_000 } });
  expect(deadline.hasPassed).toBe(false);
  hear({ type: 'lease', until: { monotonicMs: 0, wallMs } });
  expect(deadline.hasPassed).toBe(true);
});
