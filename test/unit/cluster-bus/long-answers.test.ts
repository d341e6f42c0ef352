// Answers between bus threads that are longer than a message, over connections in memory.

import { randomBytes } from 'node:crypto';
import { EventEmitter, on } from 'node:events';
import { expect, it, vi } from 'vitest';
import {
  type Answer,
  askForLong,
  serveLongAnswers,
} from '../../../src/cluster-bus/long-answers.js';
import type { NatsConnection } from '../../../src/shared/cluster/nats.js';
import { Signer } from '../../../src/shared/cluster/signer.js';
import { DroverError } from '../../../src/shared/errors.js';

const MAX_PAYLOAD = 4096;

/** As much of NATS as they use. */
class Bus extends EventEmitter {
  readonly sizes: number[] = [];
  /** Questions as they were sent. */
  readonly asked: string[] = [];
  readonly connection = {
    info: { max_payload: MAX_PAYLOAD },
    isClosed: () => false,
    publish: (subject: string, data: Uint8Array) => {
      if (data.length > MAX_PAYLOAD) throw new Error('max_payload size exceeded');
      this.sizes.push(data.length);
      this.emit(subject, { data });
    },
    subscribe: (
      subject: string,
      options?: { callback: (fault: null, message: unknown) => void },
    ) => {
      if (options) this.on(subject, (message) => options.callback(null, message));
      const end = new AbortController();
      const messages = options ? [] : on(this, subject, { signal: end.signal });
      return {
        unsubscribe: () => end.abort(),
        async *[Symbol.asyncIterator]() {
          for await (const [message] of messages) yield message;
        },
      };
    },
    request: (subject: string, text: string) =>
      new Promise((resolve) => {
        this.asked.push(text);
        const respond = (reply: string): void => resolve({ string: () => reply });
        this.emit(subject, { string: () => text, respond });
      }),
  } as unknown as NatsConnection;

  serve(answer: Answer<object>, signer = Signer.NONE): void {
    serveLongAnswers(this.connection, signer, 'h1', answer);
  }
  ask(gone?: AbortSignal, withinMs = 60_000, signer = Signer.NONE): Promise<Buffer> {
    return askForLong(this.connection, signer, 'h1', { kind: 'page' }, withinMs, gone);
  }
}

it('come in messages that the server takes, and are whole', async () => {
  const bus = new Bus();
  const bytes = randomBytes(3 * MAX_PAYLOAD);
  bus.serve(async () => bytes);
  expect((await bus.ask()).equals(bytes)).toBe(true);
  expect(bus.sizes.length).toBeGreaterThan(3);
});

it('an error is that of the other side; what is no answer is said to be none', async () => {
  const refusing = new Bus();
  refusing.serve(async () => {
    throw new DroverError('unavailable', 'the journal is off');
  });
  await expect(refusing.ask()).rejects.toMatchObject({ message: 'the journal is off' });
  for (const reply of ['{"v":1,', '{"v":1,"count":1}']) {
    const broken = new Bus();
    broken.on('h1', ({ respond }) => respond(reply));
    const asked = broken.ask();
    setImmediate(() => {
      for (const subject of broken.eventNames())
        if (String(subject).startsWith('_INBOX.')) broken.emit(subject, { data: Buffer.from('x') });
    });
    await expect(asked).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^its answer cannot be read: /),
    });
  }
});

it('with a key, questions and answers without it, or of another time, are none', async () => {
  const key = (fill: number): Signer =>
    new Signer({ keys: [new Uint8Array(32).fill(fill)], acceptsUnsigned: false });
  const bus = new Bus();
  let answered = 0;
  const bytes = randomBytes(3 * MAX_PAYLOAD);
  bus.serve(async () => {
    answered += 1;
    return bytes;
  }, key(1));
  expect((await bus.ask(undefined, 60_000, key(1))).equals(bytes)).toBe(true);
  await expect(bus.ask()).rejects.toThrow('it is not signed with the key of the cluster');
  await expect(bus.ask(undefined, 60_000, key(2))).rejects.toThrow('it is not signed');
  const [question = ''] = bus.asked;
  const again = (text: string): Promise<string> =>
    new Promise((resolve) => {
      bus.emit('h1', { string: () => text, respond: resolve });
    });
  vi.useFakeTimers({ now: Date.now() + 16_000, toFake: ['Date'] });
  expect(await again(question)).toMatch(/the clock of who has sent it is 16 s behind/);
  vi.useRealTimers();
  expect(answered).toBe(1);
  // An answer to another question.
  const signed = await again(question);
  const forged = new Bus();
  forged.on('h1', ({ respond }) => respond(signed.replace(/"count":\d+/, '"count":0')));
  await expect(forged.ask(undefined, 60_000, key(1))).rejects.toThrow(
    'its signature is of another',
  );
});

it('are not waited for when the client has left', async () => {
  const bus = new Bus();
  bus.serve(() => new Promise(() => {}));
  const gone = new AbortController();
  const asked = bus.ask(gone.signal);
  gone.abort();
  await expect(asked).rejects.toMatchObject({ code: 'no_answer' });
});
