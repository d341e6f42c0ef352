// Comments that keep a silent stream alive: sent during silence, and only then.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';

const HEARTBEAT_MS = 300;
/** Rounding can make the clocks of bot and front differ by this much. */
const ROUNDING_MS = 5;

let service: Service;
beforeAll(async () => {
  service = await startService({
    config: {
      stream: { heartbeat_ms: HEARTBEAT_MS },
      bots: [{ id: 'busy', kind: 'synthetic', config: { events_per_second: 100 } }],
    },
  });
});
afterAll(() => stopClean(service));

async function open(query: string, onBlock: (block: string) => void): Promise<RawStream> {
  const token = await service.token();
  const stream = await RawStream.open(service.port, { token, target: `/events${query}`, onBlock });
  onTestFinished(() => stream.close());
  return stream;
}

it('a stream whose filter passes nothing receives comments while others are busy', async () => {
  const idle = new Ledger({ filtered: true });
  const stream = await open('?session=nobody', idle.take);
  await stream.until(() => idle.comments >= 5);
  expect(idle).toMatchObject({ frames: 0, snapshots: 0, faults: [], gaps: [], retries: 1 });
});

it('a busy stream receives a comment only after a silence of heartbeat_ms', async () => {
  const pieces: (number | 'comment')[] = [];
  const busy = new Ledger();
  const idle = new Ledger({ filtered: true });
  await open('', (block) => {
    busy.take(block);
    const time = /"timestamp_ms":(\d+)/.exec(block)?.[1];
    if (block === ':') pieces.push('comment');
    else if (time && block.startsWith('id: ')) pieces.push(Number(time));
  });
  const silent = await open('?session=nobody', idle.take);
  // The comments of the other stream measure the time.
  await silent.until(() => idle.comments >= 5);
  expect(busy.faults).toEqual([]);
  expect(busy.frames).toBeGreaterThan(50);
  for (const [at, piece] of pieces.entries()) {
    const [before, after] = [pieces[at - 1], pieces[at + 1]];
    if (piece !== 'comment' || typeof before !== 'number' || typeof after !== 'number') continue;
    expect(after - before).toBeGreaterThanOrEqual(HEARTBEAT_MS - ROUNDING_MS);
  }
  expect(pieces.filter((piece) => piece === 'comment').length).toBeLessThan(idle.comments);
});

it('comments come between frames, and the stream continues after them', async () => {
  const ledger = new Ledger({ filtered: true });
  const stream = await open('?scope=dispatch', ledger.take);
  for (let n = 1; n <= 3; n++) {
    const before = ledger.comments;
    await stream.until(() => ledger.comments > before);
    await call(service, 'POST', '/invoke', { body: { session_id: null, command: 'ping' } });
    await stream.until(() => ledger.frames === n);
  }
  expect(ledger).toMatchObject({ retries: 1, faults: [] });
});
