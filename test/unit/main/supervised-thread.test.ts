import { beforeEach, describe, expect, it, vi } from 'vitest';
import { SupervisedThread, type ThreadExit } from '../../../src/main/threads/supervised-thread.js';
import { DroverError } from '../../../src/shared/errors.js';
import { FakeClock, FakeThread, settled } from './thread-fixture.js';

type Remote = { ping(input: null): string };

let clock: FakeClock;
let threads: FakeThread[];
let exits: ThreadExit[];
const prepare = vi.fn<(peer: unknown, replaces: string | undefined) => Promise<void>>();

beforeEach(() => {
  clock = new FakeClock();
  threads = [];
  exits = [];
  prepare.mockReset().mockResolvedValue();
});

function supervise(options: { restarts?: boolean; notReady?: () => void } = {}) {
  const { restarts = true, notReady } = options;
  return new SupervisedThread<never, Remote>({
    source() {
      const thread = new FakeThread();
      threads.push(thread);
      return thread;
    },
    methods: {} as never,
    lost: (reason) => new DroverError('unavailable', `lost: ${reason}`),
    prepare,
    exited: (exit) => exits.push(exit),
    ...(notReady && { notReady }),
    ...(restarts && {
      restart: { pauseMs: (failures) => 100 * 2 ** failures, healthyMs: 10_000 },
    }),
    clock,
  });
}
const last = (): FakeThread => threads.at(-1) as FakeThread;

it('a lost thread is replaced; its calls reject, and those who wait for a ready one get the next', async () => {
  const thread = supervise();
  await thread.start();
  const call = thread.peer.call('ping', null);
  last().exit(new Error('boom'));
  await expect(call).rejects.toThrow('lost: boom');
  const ready = thread.ready;
  expect(thread.isAlive).toBe(false);
  expect(thread.utilization()).toBeUndefined();
  await clock.advance(100);
  expect(await ready).toBe(thread.peer);
  expect(thread.isAlive).toBe(true);
  expect(prepare.mock.calls.map(([, replaces]) => replaces)).toEqual([undefined, 'boom']);
  expect(exits).toEqual([{ reason: 'boom', isRepeated: false, isExpected: false }]);
});

it('nobody is given the lost thread as ready, even when the thread takes long to exit', async () => {
  const thread = supervise();
  await thread.start();
  const lost = thread.peer;
  last().fail(new Error('boom'));
  await settled();
  let ready: unknown;
  void thread.ready.then((peer) => {
    ready = peer;
  });
  await clock.advance(60_000);
  expect(threads).toHaveLength(1);
  expect(ready).toBeUndefined();
  last().exit();
  await clock.advance(100);
  expect(threads).toHaveLength(2);
  expect(ready).toBe(thread.peer);
  expect(ready).not.toBe(lost);
});

it('pauses grow until a thread is healthy, and a reason is new only once until then', async () => {
  const thread = supervise();
  await thread.start();
  for (let n = 0; n < 3; n++) {
    last().exit(new Error('boom'));
    await clock.advance(100 * 2 ** n);
  }
  expect(clock.sleeps).toEqual([100, 200, 400]);
  await clock.advance(10_000);
  last().exit(new Error('boom'));
  await clock.advance(100);
  expect(clock.sleeps).toEqual([100, 200, 400, 100]);
  expect(exits.map(({ isRepeated }) => isRepeated)).toEqual([false, true, true, false]);
});

it('a thread that dies while it is prepared is replaced too, though the preparation never ends', async () => {
  const thread = supervise();
  await thread.start();
  prepare.mockReturnValueOnce(new Promise(() => {}));
  last().exit(new Error('one'));
  await clock.advance(100);
  expect(threads).toHaveLength(2);
  last().exit(new Error('two'));
  await clock.advance(200);
  expect(await thread.ready).toBe(thread.peer);
  expect(prepare.mock.calls.map(([, replaces]) => replaces)).toEqual([undefined, 'one', 'two']);
});

it('a replacement that cannot be prepared is made to exit before the next is started', async () => {
  const notReady = vi.fn();
  const thread = supervise({ notReady });
  await thread.start();
  prepare.mockRejectedValueOnce(new Error('port taken'));
  last().exit();
  await clock.advance(100);
  expect(notReady).toHaveBeenCalledExactlyOnceWith(thread.peer, {
    reason: 'port taken',
    isRepeated: false,
  });
  await clock.advance(10_000);
  expect(threads).toHaveLength(2);
  last().exit();
  await clock.advance(200);
  expect(threads).toHaveLength(3);
});

it('by default such a replacement is terminated', async () => {
  const thread = supervise();
  await thread.start();
  prepare.mockRejectedValueOnce(new Error('no'));
  last().exit();
  await clock.advance(100);
  expect(threads[1]?.isTerminated).toBe(true);
});

it('a first thread that does not become ready is not replaced', async () => {
  const thread = supervise();
  prepare.mockReturnValueOnce(new Promise(() => {}));
  const started = thread.start();
  last().exit(new Error('no engine'));
  await expect(started).rejects.toThrow('no engine');
  await clock.advance(60_000);
  expect(threads).toHaveLength(1);
});

it('a thread that was asked to stop is not replaced, and its exit was expected', async () => {
  const thread = supervise();
  await thread.start();
  const ask = vi.fn(() => last().exit());
  expect(await thread.stop(ask)).toBe(true);
  await clock.advance(60_000);
  expect(threads).toHaveLength(1);
  expect(exits).toEqual([expect.objectContaining({ isExpected: true })]);
});

it('a stop during the pause before a replacement starts no more threads', async () => {
  const thread = supervise();
  await thread.start();
  last().exit();
  await settled();
  expect(await thread.stop(() => {})).toBe(true);
  await clock.advance(60_000);
  expect(threads).toHaveLength(1);
});

it('a thread that does not end in time is left', async () => {
  const thread = supervise();
  await thread.start();
  expect(await thread.stop(() => {}, 1)).toBe(false);
});

it('without a restart policy a lost thread is not replaced', async () => {
  const thread = supervise({ restarts: false });
  await thread.start();
  thread.kill(new Error('ended'));
  await expect(thread.peer.call('ping', null)).rejects.toThrow('lost: ended');
  await thread.gone;
  await clock.advance(60_000);
  expect(threads).toHaveLength(1);
  expect(last().isTerminated).toBe(true);
});

describe('when the system does not allow another thread', () => {
  const refused = new Error('EAGAIN');
  let isRefused: boolean;
  const notReady = vi.fn();
  const superviseRefused = () =>
    new SupervisedThread<never, Remote>({
      source() {
        if (isRefused) throw refused;
        const thread = new FakeThread();
        threads.push(thread);
        return thread;
      },
      methods: {} as never,
      lost: (reason) => new DroverError('unavailable', `lost: ${reason}`),
      exited: (exit) => exits.push(exit),
      notReady,
      restart: { pauseMs: () => 100, healthyMs: 10_000 },
      clock,
    });

  it('the start fails with that error, and not later with another', () => {
    isRefused = true;
    expect(() => superviseRefused().start()).toThrow(refused);
  });

  it('a replacement is tried again, and the reason is that error', async () => {
    isRefused = false;
    const thread = superviseRefused();
    await thread.start();
    isRefused = true;
    last().exit(new Error('boom'));
    await clock.advance(100);
    expect(notReady.mock.calls.map(([, exit]) => exit)).toEqual([
      { reason: 'EAGAIN', isRepeated: false },
    ]);
    isRefused = false;
    await clock.advance(100);
    expect(threads).toHaveLength(2);
    expect(await thread.ready).toBe(thread.peer);
    expect(exits).toHaveLength(1);
  });
});
