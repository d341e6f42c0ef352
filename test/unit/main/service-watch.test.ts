// The watch over the loops of the service's threads, with a clock and threads of the test.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type ServiceThread, ServiceWatch } from '../../../src/main/service/service-watch.js';
import type { Ended } from '../../../src/shared/stack-capture.js';

const HANG_MS = 10_000;
const FRAME = { function: 'repeat', url: 'file:///a/regex.js', line: 12, column: 3 };
const ENDED: Ended = { frames: [FRAME], what: 'GET /api/bots', isAborted: false };

/** A thread whose loop is idle, saturated (it turns, and is never idle) or stuck. */
class FakeLoop {
  state: 'idle' | 'saturated' | 'stuck' = 'idle';
  isAlive = true;
  threadId = 7;
  pings = 0;
  readonly kill = vi.fn(() => {
    this.isAlive = false;
  });

  utilization(): { active: number; idle: number; utilization: number } {
    if (this.state === 'idle') this.#idleMs += 1;
    return { active: 1, idle: this.#idleMs, utilization: 0 };
  }

  ping(): Promise<number> {
    this.pings += 1;
    return this.state === 'stuck' ? new Promise(() => {}) : Promise.resolve(0);
  }

  #idleMs = 0;
}

let said: string[];
let loop: FakeLoop;
let watch: ServiceWatch;
const endTurn = vi.fn<() => Promise<Ended | undefined>>();

function begin(one: Partial<ServiceThread> = {}): void {
  watch = new ServiceWatch({
    hangMs: HANG_MS,
    say: (level, line) => said.push(`${level} ${line}`),
    endTurn,
  });
  watch.start(() => [{ name: 'front-0', thread: loop, ...one }]);
}

beforeEach(() => {
  vi.useFakeTimers();
  said = [];
  loop = new FakeLoop();
  endTurn.mockReset().mockResolvedValue(ENDED);
});
afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

it.each(['idle', 'saturated'] as const)('a loop that is %s is never ended', async (state) => {
  begin();
  loop.state = state;
  await vi.advanceTimersByTimeAsync(5 * HANG_MS);
  expect(endTurn).not.toHaveBeenCalled();
  // One that is idle is not asked: only once, when the thread was new.
  expect(loop.pings > 5).toBe(state === 'saturated');
});

it('a loop that is stuck is ended after the time, with a line that says where it was', async () => {
  begin();
  await vi.advanceTimersByTimeAsync(3000);
  loop.state = 'stuck';
  await vi.advanceTimersByTimeAsync(HANG_MS - 1000);
  expect(endTurn).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(3000);
  expect(endTurn).toHaveBeenCalledExactlyOnceWith(7, expect.any(Number), false);
  expect(loop.kill).toHaveBeenCalledOnce();
  expect(said).toEqual([
    expect.stringMatching(
      /^error the event loop of front-0 has been blocked for 1\d\.\d s, in GET \/api\/bots, at repeat \(regex\.js:12\): it is replaced$/,
    ),
  ]);
});

it('a thread with sockets whose turn was aborted ends by itself, and is looked at again', async () => {
  endTurn.mockResolvedValue({ ...ENDED, isAborted: true });
  begin({ endsItself: true });
  loop.state = 'stuck';
  await vi.advanceTimersByTimeAsync(HANG_MS + 3000);
  expect(endTurn).toHaveBeenCalledOnce();
  expect(loop.kill).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(HANG_MS + 3000);
  expect(endTurn).toHaveBeenCalledTimes(2);
});

it('a thread in native code is left as it is, and tried again', async () => {
  endTurn.mockResolvedValueOnce(undefined);
  begin();
  loop.state = 'stuck';
  await vi.advanceTimersByTimeAsync(HANG_MS + 3000);
  expect(loop.kill).not.toHaveBeenCalled();
  expect(said).toEqual([expect.stringContaining('in native code, which cannot be ended')]);
  await vi.advanceTimersByTimeAsync(HANG_MS + 3000);
  expect(loop.kill).toHaveBeenCalledOnce();
});

it('the broadcaster gets twice the time: a reader of the ring that hangs goes first', async () => {
  begin({ name: 'broadcaster', waitsForOthers: true });
  loop.state = 'stuck';
  await vi.advanceTimersByTimeAsync(HANG_MS + 3000);
  expect(endTurn).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(HANG_MS + 3000);
  expect(loop.kill).toHaveBeenCalledOnce();
});

it('a process that was suspended in the midst of a turn loses no thread', async () => {
  begin();
  await vi.advanceTimersByTimeAsync(3000);
  loop.state = 'stuck';
  const real = performance.now.bind(performance);
  const now = vi.spyOn(performance, 'now').mockImplementation(() => real() + 60_000);
  await vi.advanceTimersByTimeAsync(1000);
  loop.state = 'idle';
  await vi.advanceTimersByTimeAsync(5000);
  now.mockRestore();
  expect(endTurn).not.toHaveBeenCalled();
});

it('a blocked loop is named once a minute; what follows is counted', async () => {
  begin();
  watch.slow('front-0', { forMs: 1400, ranMs: 1350, what: 'GET /api/bots' });
  watch.slow('front-0', { forMs: 2600, ranMs: 2600, what: 'GET /api/events' });
  await vi.advanceTimersByTimeAsync(60_000);
  watch.slow('front-0', { forMs: 1100, ranMs: null, what: null });
  expect(said).toEqual([
    'warn the event loop of front-0 was blocked for 1.4 s, in GET /api/bots',
    'warn the event loop of front-0 was blocked for 2.6 s at most, 2 times since the last such line',
  ]);
});

it('a thread that hardly ran has waited for a disk, unless main was held up too', async () => {
  begin();
  const turn = { forMs: 5000, ranMs: 10, what: 'writing of events' };
  watch.slow('journal', turn);
  await vi.advanceTimersByTimeAsync(1000);
  const line =
    'warn the event loop of journal was blocked for 5.0 s, in which it ran for 0.0 s, in writing of events';
  expect(said).toEqual([line]);
  // The whole process was suspended.
  const real = performance.now.bind(performance);
  const now = vi.spyOn(performance, 'now').mockImplementation(() => real() + 5000);
  watch.slow('rules', turn);
  await vi.advanceTimersByTimeAsync(1000);
  now.mockRestore();
  expect(said).toEqual([line]);
});
