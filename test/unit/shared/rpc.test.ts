// Calls over a real MessageChannel.

import { getEventListeners } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import fc from 'fast-check';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type CallBounds, Handover, Rpc, type Serves } from '../../../src/shared/contract/rpc.js';
import { DroverError, ERRORS, type ErrorCode } from '../../../src/shared/errors.js';

type Offer = {
  echo(input: unknown): unknown;
  later(input: { ms: number; value: number }): number;
  fail(input: { code: ErrorCode; message: string; retryAfterS?: number }): void;
  crash(input: unknown): void;
  uncloneable(input: null): unknown;
  log(input: number): void;
  logged(input: null): number[];
  size(input: Uint8Array): number;
};

const open: MessageChannel[] = [];
afterEach(() => {
  for (const { port1 } of open.splice(0)) port1.close();
});

function connect(
  methods: Partial<Serves<Offer>> = {},
  maxOpen = Number.POSITIVE_INFINITY,
  reserves: NonNullable<CallBounds<Offer>['reserves']> = [],
): Rpc<never, Offer> {
  const channel = new MessageChannel();
  open.push(channel);
  const log: number[] = [];
  new Rpc<Offer, never>(channel.port1, {
    echo: (input) => input,
    later: async ({ ms, value }) => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return value;
    },
    fail: ({ code, message, retryAfterS }) => {
      throw new DroverError(code, message, retryAfterS);
    },
    crash: (input) => {
      throw input;
    },
    uncloneable: () => () => 1,
    log: (input) => {
      log.push(input);
    },
    logged: () => log,
    size: (bytes) => bytes.byteLength,
    ...methods,
  });
  return new Rpc<never, Offer>(channel.port2, {} as never, { open: maxOpen, reserves });
}

it.each(['nope', 'constructor', '__proto__', 'toString'])(
  'a call of %s, which is no method, is an error',
  async (method) => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => write.mockRestore());
    expect(await rejection(connect().call(method as 'echo', {}))).toMatchObject({
      code: 'internal',
    });
    expect(String(write.mock.calls[0]?.[0])).toContain(`${method} failed: no method ${method}`);
  },
);

const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => expect.unreachable('it did not reject'),
    (thrown: unknown) => thrown,
  );

describe('a call', () => {
  it('carries any cloneable value there and back', async () => {
    const rpc = connect();
    await fc.assert(
      fc.asyncProperty(
        fc.anything({
          withDate: true,
          withMap: true,
          withSet: true,
          withBigInt: true,
          withTypedArray: true,
        }),
        async (value) => {
          expect(await rpc.call('echo', value)).toEqual(structuredClone(value));
        },
      ),
    );
    expect(await rpc.call('echo', undefined)).toBeUndefined();
  });

  it('gets its own answer, in any order of answers', async () => {
    const rpc = connect();
    const delays = [30, 1, 20, 5, 0, 15];
    const answers = delays.map((ms, value) => rpc.call('later', { ms, value }));
    expect(await Promise.all(answers)).toEqual(delays.map((_, value) => value));
  });

  it('rejects with the error that the peer threw: its code, status, message and wait', async () => {
    const rpc = connect();
    const codes = Object.keys(ERRORS) as ErrorCode[];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...codes),
        fc.string({ unit: 'binary' }),
        fc.option(fc.nat(), { nil: undefined }),
        async (code, message, retryAfterS) => {
          const input =
            retryAfterS === undefined ? { code, message } : { code, message, retryAfterS };
          const thrown = await rejection(rpc.call('fail', input));
          expect(thrown).toBeInstanceOf(DroverError);
          expect(thrown).toMatchObject({ code, message, retryAfterS, status: ERRORS[code].status });
        },
      ),
    );
  });

  it('rejects with `internal error` for any other exception, which is logged to standard error on one line', async () => {
    const rpc = connect();
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => written.mockRestore());
    for (const [thrown, message] of [
      ['a text', 'a text'],
      [new TypeError('first\nsecond'), 'first second'],
      [undefined, 'undefined'],
      [new Error(''), 'Error'],
      [new Error('ENOSPC, /somewhere/store.mdb'), 'ENOSPC, /somewhere/store.mdb'],
    ]) {
      const rejected = await rejection(rpc.call('crash', thrown));
      expect(rejected).toMatchObject({ code: 'internal', message: 'internal error' });
      expect(written).toHaveBeenLastCalledWith(`drover: crash failed: ${message}\n`);
    }
  });

  it('rejects when the answer cannot be cloned', async () => {
    const rpc = connect();
    const thrown = await rejection(rpc.call('uncloneable', null));
    expect(thrown).toBeInstanceOf(DroverError);
    expect(thrown).toMatchObject({ code: 'internal' });
    const promise = connect({ uncloneable: () => ({ deep: [Symbol('x')] }) });
    expect(await rejection(promise.call('uncloneable', null))).toMatchObject({ code: 'internal' });
  });

  it.each([0, 1, 100, 4095, 4096, 100_000])(
    'hands over %i bytes, and nothing beside them',
    async (length) => {
      const text = 'x'.repeat(length);
      // As a part of something larger, as one that is concatenated, as all that there is.
      for (const bytes of [
        Buffer.from(`${text}yyy`).subarray(0, length),
        Buffer.concat([Buffer.from(text)]),
        new Uint8Array(Buffer.from(text)),
      ]) {
        const rpc = connect({ echo: () => Handover.bytes({ count: 1, body: bytes }, 'body') });
        const answer = (await rpc.call('echo', null)) as { count: number; body: Uint8Array };
        expect(answer.count).toBe(1);
        expect(Buffer.from(answer.body).toString()).toBe(text);
        expect(answer.body.buffer.byteLength).toBe(length);
      }
    },
  );

  it('rejects when the question cannot be cloned, and others continue', async () => {
    const rpc = connect();
    expect(await rejection(rpc.call('echo', () => 1))).toBeInstanceOf(Error);
    expect(await rpc.call('echo', 1)).toBe(1);
  });

  it('rejects when the peer has no such method', async () => {
    const channel = new MessageChannel();
    open.push(channel);
    new Rpc<Record<string, never>, never>(channel.port1, {});
    const rpc = new Rpc<never, Offer>(channel.port2, {} as never);
    expect(await rejection(rpc.call('echo', 1))).toMatchObject({ code: 'internal' });
  });

  it('moves what is to be transferred', async () => {
    const rpc = connect();
    const bytes = new Uint8Array(1000);
    expect(await rpc.call('size', bytes, [bytes.buffer])).toBe(1000);
    expect(bytes.byteLength).toBe(0);
  });

  it('that rejects leaves no rejection behind that nobody handles', async () => {
    const rpc = connect();
    const first = rejection(rpc.call('crash', 'x'));
    await first;
    expect(await rpc.call('echo', 'still there')).toBe('still there');
  });
});

describe('a call that can be cancelled', () => {
  /** A method that answers when it is cancelled. */
  const untilCancelled = (seen: AbortSignal[]): Partial<Serves<Offer>> => ({
    later: ({ value }, cancelled) => {
      if (!cancelled) throw new DroverError('conflict', 'it cannot be cancelled');
      seen.push(cancelled);
      return new Promise((resolve) => {
        cancelled.addEventListener('abort', () => resolve(value));
      });
    },
  });

  it('is notified, without other calls, and still answers', async () => {
    const rpc = connect(untilCancelled([]));
    const [first, second] = [new AbortController(), new AbortController()];
    const answers: number[] = [];
    const calls = [first, second].map(({ signal }, value) =>
      rpc.cancellableCall('later', { ms: 0, value }, signal).then((answer) => answers.push(answer)),
    );
    second.abort();
    await calls[1];
    expect(answers).toEqual([1]);
    first.abort();
    await calls[0];
    expect(answers).toEqual([1, 0]);
  });

  it('with a signal that is aborted already is made and cancelled', async () => {
    const rpc = connect(untilCancelled([]));
    const signal = AbortSignal.abort();
    expect(await rpc.cancellableCall('later', { ms: 0, value: 7 }, signal)).toBe(7);
  });

  it('leaves nothing on its signal when it has been answered', async () => {
    const rpc = connect();
    const { signal } = new AbortController();
    expect(await rpc.cancellableCall('echo', 1, signal)).toBe(1);
    await rejection(rpc.cancellableCall('crash', 'x', signal));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('cannot be cancelled when it was made without a signal', async () => {
    const rpc = connect(untilCancelled([]));
    const thrown = await rejection(rpc.call('later', { ms: 0, value: 1 }));
    expect(thrown).toMatchObject({ code: 'conflict', message: 'it cannot be cancelled' });
  });

  it('is cancelled when the end that runs it is closed', async () => {
    const channel = new MessageChannel();
    open.push(channel);
    const seen: AbortSignal[] = [];
    const serving = new Rpc<Offer, never>(channel.port1, untilCancelled(seen) as Serves<Offer>);
    const rpc = new Rpc<never, Offer>(channel.port2, {} as never);
    const { signal } = new AbortController();
    void rpc.cancellableCall('later', { ms: 0, value: 1 }, signal);
    await expect.poll(() => seen.length).toBe(1);
    serving.close(new DroverError('unavailable'));
    expect(seen[0]?.aborted).toBe(true);
  });
});

describe('a bound on open calls', () => {
  it('rejects what is above it at once, with 503 and a wait, and is free again with each answer', async () => {
    const answers: ((value: number) => void)[] = [];
    let asked = 0;
    const later = (): Promise<number> => {
      asked += 1;
      return new Promise((resolve) => answers.push(resolve));
    };
    const rpc = connect({ later }, 3);
    const open = [0, 1, 2].map((value) => rpc.call('later', { ms: 0, value }));
    const thrown = await rejection(rpc.call('later', { ms: 0, value: 3 }));
    expect(thrown).toMatchObject({ code: 'overloaded', status: 503, retryAfterS: 1 });
    await expect.poll(() => asked).toBe(3);
    answers[1]?.(10);
    expect(await open[1]).toBe(10);
    const next = rpc.call('later', { ms: 0, value: 4 });
    await rejection(rpc.call('later', { ms: 0, value: 5 }));
    await expect.poll(() => asked).toBe(4);
    for (const answer of answers) answer(20);
    expect(await Promise.all([open[0], open[2], next])).toEqual([20, 20, 20]);
    expect(asked).toBe(4);
  });

  it('a reserve is for its methods alone, which take places of others only when it is full', async () => {
    const waiting: (() => void)[] = [];
    const untilReleased = (): Promise<never> =>
      new Promise((resolve) => waiting.push(() => resolve(undefined as never)));
    const rpc = connect({ later: untilReleased, echo: untilReleased, log: untilReleased }, 2, [
      { calls: 1, methods: new Set(['echo']) },
      { calls: 2, methods: new Set(['log']) },
    ]);
    const overloaded = { code: 'overloaded', status: 503 };
    const later = (): Promise<unknown> => rpc.call('later', { ms: 0, value: 0 });
    const open: Promise<unknown>[] = [rpc.call('echo', 0), later(), rpc.call('echo', 1)];
    expect(await rejection(later())).toMatchObject(overloaded);
    open.push(rpc.call('log', 1), rpc.call('log', 2));
    for (const call of [later(), rpc.call('echo', 2), rpc.call('log', 3)]) {
      expect(await rejection(call)).toMatchObject(overloaded);
    }
    await expect.poll(() => waiting.length).toBe(5);
    // An answer makes room in the reserve in which its call was counted.
    waiting[3]?.();
    await open[3];
    expect(await rejection(rpc.call('echo', 2))).toMatchObject(overloaded);
    expect(await rejection(later())).toMatchObject(overloaded);
    open.push(rpc.call('log', 3));
    await expect.poll(() => waiting.length).toBe(6);
    for (const release of waiting) release();
    await Promise.all(open);
  });

  it('does not count what could not be sent, nor what is told', async () => {
    const rpc = connect({}, 1);
    for (let n = 0; n < 3; n++) expect(await rejection(rpc.call('echo', () => 1))).toBeDefined();
    rpc.tell('log', 1);
    rpc.tell('log', 2);
    expect(await rpc.call('logged', null)).toEqual([1, 2]);
  });
});

describe('a tell', () => {
  it('is handled before what is sent after it', async () => {
    const rpc = connect();
    for (let at = 0; at < 100; at++) rpc.tell('log', at);
    expect(await rpc.call('logged', null)).toEqual(Array.from({ length: 100 }, (_, at) => at));
  });
});

describe('close', () => {
  it('rejects what is open and what comes after, with the reason', async () => {
    const rpc = connect();
    const calls = [1, 2, 3].map((value) => rejection(rpc.call('later', { ms: 5, value })));
    const reason = new DroverError('unavailable', 'the peer is gone');
    rpc.close(reason);
    expect(await Promise.all(calls)).toEqual([reason, reason, reason]);
    expect(await rejection(rpc.call('echo', 1))).toBe(reason);
    rpc.tell('log', 1);
    // The answers that come now have nobody to go to.
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await rejection(rpc.call('echo', 1))).toBe(reason);
  });
});
