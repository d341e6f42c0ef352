// Answers between bus threads that are longer than a message, over connections in memory.

import { randomBytes } from 'node:crypto';
import { EventEmitter, on } from 'node:events';
import { expect, it } from 'vitest';
import {
  type Answer,
  askForLong,
  Questions,
  serveLongAnswers,
} from '../../../../src/cluster/bus/long-answers.js';
import type { NatsConnection } from '../../../../src/cluster/wire/nats.js';
import { Signer } from '../../../../src/cluster/wire/signer.js';
import { DroverError } from '../../../../src/shared/errors.js';

const MAX_PAYLOAD = 4096;

/** As much of NATS as they use. */
class Bus extends EventEmitter {
  readonly sizes: number[] = [];
  /** Questions as they were sent. */
  readonly asked: string[] = [];
  readonly connection = {
    info: { max_payload: MAX_PAYLOAD },
    isClosed: () => false,
    publish: (subject: string, sent: Uint8Array | string, { reply = '' } = {}) => {
      const data = Buffer.from(sent as string);
      if (data.length > MAX_PAYLOAD) throw new Error('max_payload size exceeded');
      if (subject === 'h1') this.asked.push(data.toString());
      else this.sizes.push(data.length);
      const respond = (text: string): void => void this.emit(reply, { data: Buffer.from(text) });
      this.emit(subject, { data, reply, string: () => data.toString(), respond });
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

it('an error is that of the other side; when there is no answer in time, what came instead is said', async () => {
  const refusing = new Bus();
  refusing.serve(async () => {
    throw new DroverError('unavailable', `the journal is off${'!'.repeat(5000)}`.slice(0, 2000));
  });
  const error = await refusing.ask().catch((thrown: DroverError) => thrown);
  expect((error as DroverError).message).toMatch(/^the journal is off!{382}$/);
  for (const replies of [['{"v":1,'], ['{"v":1,"count":1}', 'x', '{"v":1,"part":0}\nx']]) {
    const broken = new Bus();
    broken.on('h1', ({ respond }) => replies.forEach(respond));
    await expect(broken.ask(undefined, 200)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^its answer cannot be read: /),
    });
  }
});

const key = (fill: number): Signer =>
  new Signer({ keys: [new Uint8Array(32).fill(fill)], acceptsUnsigned: false });

it('with a key, what is not signed by the other side is left out, and its answer is waited for', async () => {
  const bus = new Bus();
  const bytes = randomBytes(3 * MAX_PAYLOAD);
  const earlier: Buffer[] = [];
  // Somebody is quicker than the other side.
  const forge = (subject: string): void => {
    const junk = ['', '{}', '{"v":1,"count":0}', '{"v":1,"part":0}\nx', '{"v":9}'];
    for (const data of [...junk.map((text) => Buffer.from(text)), ...earlier])
      bus.emit(subject, { data });
  };
  bus.serve(async () => bytes, key(1));
  bus.prependListener('h1', ({ reply }) => {
    forge(reply);
    bus.prependListener(reply, ({ data }) => {
      if (earlier.includes(data) || data.length < 100) return;
      earlier.push(data);
      forge(reply);
    });
  });
  for (let n = 0; n < 3; n++)
    expect((await bus.ask(undefined, 60_000, key(1))).equals(bytes)).toBe(true);
});

it('with a key, questions without it, of another time, or that were here, have no answer', async () => {
  const bus = new Bus();
  let answered = 0;
  bus.serve(async () => {
    answered += 1;
    return randomBytes(3 * MAX_PAYLOAD);
  }, key(1));
  await bus.ask(undefined, 60_000, key(1));
  await expect(bus.ask()).rejects.toThrow('it is not signed with the key of the cluster');
  await expect(bus.ask(undefined, 200, key(2))).rejects.toThrow('it is not signed');
  const [question = ''] = bus.asked;
  const sent = bus.sizes.length;
  bus.connection.publish('h1', question, { reply: '_INBOX.again' });
  const refused = new Promise((resolve) => bus.once('_INBOX.refused', resolve));
  bus.connection.publish('h1', 'x', { reply: '_INBOX.refused' });
  await refused;
  expect(bus.sizes.length).toBe(sent);
  expect(answered).toBe(1);
});

it('a question is known as long as it is accepted, also when a clock is set back', () => {
  let [monotonic, wall] = [0, 1_000_000];
  const clocks = { monotonic: () => monotonic, wall: () => wall };
  const questions = new Questions(key(1), 'h1', clocks);
  const question = key(1).sign(['question', 'h1'], wall, '{"v":1}');
  expect(questions.open(question)).toEqual({ v: 1 });
  for (const byMs of [0, -60_000, 60_000, 0]) {
    expect(questions.open(question)).toBeNull();
    monotonic += 5000;
    wall += 5000 + byMs;
  }
  expect(() => questions.open(question)).toThrow(/the clock of who has sent it is \d+ s behind/);
  expect(() => questions.open(key(1).sign(['question', 'h1'], 999_999, '{"v":1}'))).toThrow();
});

it('are not waited for when the client has left', async () => {
  const bus = new Bus();
  bus.serve(() => new Promise(() => {}));
  const gone = new AbortController();
  const asked = bus.ask(gone.signal);
  gone.abort();
  await expect(asked).rejects.toMatchObject({ code: 'no_answer' });
});
