// Answers between bus threads that are longer than a message, over connections in memory.

import { randomBytes } from 'node:crypto';
import { EventEmitter, on } from 'node:events';
import { expect, it } from 'vitest';
import {
  type Answer,
  askForLong,
  serveLongAnswers,
} from '../../../src/cluster-bus/long-answers.js';
import type { NatsConnection } from '../../../src/shared/cluster/nats.js';
import { DroverError } from '../../../src/shared/errors.js';

const MAX_PAYLOAD = 4096;

/** As much of NATS as they use. */
class Bus extends EventEmitter {
  readonly sizes: number[] = [];
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
        const respond = (reply: string): void => resolve({ json: () => JSON.parse(reply) });
        this.emit(subject, { json: () => JSON.parse(text), respond });
      }),
  } as unknown as NatsConnection;

  serve(answer: Answer<object>): void {
    serveLongAnswers(this.connection, 'h1', answer);
  }
  ask(gone?: AbortSignal, withinMs = 60_000): Promise<Buffer> {
    return askForLong(this.connection, 'h1', { kind: 'page' }, withinMs, gone);
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

it('are not waited for when the client has left', async () => {
  const bus = new Bus();
  bus.serve(() => new Promise(() => {}));
  const gone = new AbortController();
  const asked = bus.ask(gone.signal);
  gone.abort();
  await expect(asked).rejects.toMatchObject({ code: 'no_answer' });
});
