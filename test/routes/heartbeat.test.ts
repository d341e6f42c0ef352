// Comments that keep a silent stream alive: sent during silence, and only then.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { invoke } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { type SseStream, streamOn } from '../harness/sse.js';

const HEARTBEAT_MS = 300;
/** Rounding can make the clocks of bot and front differ by this much. */
const ROUNDING_MS = 5;

let service: InjectedService;
beforeAll(async () => {
  service = await inject({
    config: {
      stream: { heartbeat_ms: HEARTBEAT_MS },
      bots: [{ id: 'busy', kind: 'synthetic', config: { events_per_second: 100 } }],
    },
  });
});
afterAll(() => service.close());

async function open(query = ''): Promise<SseStream> {
  const stream = await streamOn(service, `/events${query}`, { token: await service.token() });
  onTestFinished(() => stream.close());
  return stream;
}

const numbersOf = ({ frames }: SseStream): number[] =>
  frames.flatMap(({ id }) => (id === undefined ? [] : Number(id.split('-')[1])));

it('a stream whose filter passes nothing receives comments while others are busy', async () => {
  const idle = await open('?session=nobody');
  await idle.until(() => idle.comments.length >= 5);
  expect(idle).toMatchObject({ frames: [], faults: [] });
  expect(idle.raw).toMatch(/^retry: \d+\n(: position \S+\n)+$/);
});

it('a busy stream receives a comment only after a silence of heartbeat_ms', async () => {
  const busy = await open();
  const idle = await open('?session=nobody');
  // The comments of the other stream measure the time.
  await idle.until(() => idle.comments.length >= 5);
  expect(busy.faults).toEqual([]);
  const numbers = numbersOf(busy);
  expect(numbers.length).toBeGreaterThan(50);
  expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0) + at));
  const pieces = [...busy.raw.matchAll(/^(:)$|"timestamp_ms":(\d+)/gm)].map(([, comment, time]) =>
    comment ? 'comment' : Number(time),
  );
  for (const [at, piece] of pieces.entries()) {
    const [before, after] = [pieces[at - 1], pieces[at + 1]];
    if (piece !== 'comment' || typeof before !== 'number' || typeof after !== 'number') continue;
    expect(after - before).toBeGreaterThanOrEqual(HEARTBEAT_MS - ROUNDING_MS);
  }
  expect(busy.comments.length).toBeLessThan(idle.comments.length);
});

it('comments come between frames, and the stream continues after them', async () => {
  const stream = await open('?scope=dispatch');
  for (let n = 1; n <= 3; n++) {
    const before = stream.comments.length;
    await stream.until(() => stream.comments.length > before);
    await invoke(service, null, 'ping');
    await stream.until(() => stream.frames.length === n);
  }
  expect(stream.faults).toEqual([]);
  expect(stream.raw.match(/^retry:/gm)).toHaveLength(1);
});
