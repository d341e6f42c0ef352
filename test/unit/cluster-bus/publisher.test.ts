import { afterEach, expect, it } from 'vitest';
import { Broadcaster } from '../../../src/broadcaster/broadcaster.js';
import { decodeBlock } from '../../../src/cluster-bus/block.js';
import { BlockWriter } from '../../../src/cluster-bus/block-writer.js';
import { OwnFrames } from '../../../src/cluster-bus/own-frames.js';
import {
  type BlockSink,
  type LastBlock,
  Publisher,
  WrongSequence,
} from '../../../src/cluster-bus/publisher.js';
import { messageJson } from '../../../src/shared/contract/line-text.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { createRing } from '../../../src/shared/memory/layout.js';
import { RingReader } from '../../../src/shared/memory/ring-reader.js';

const EPOCH = 'abcdef0123';

/** The subject of a node, as JetStream has it. */
class Subject implements BlockSink {
  readonly messages: Uint8Array[] = [];
  /** The next publish gets no answer: before or after the message is stored. */
  failure: 'lost' | 'answer lost' | null = null;
  failed = new Deferred();

  async publish(bytes: Uint8Array, _: string, last: number): Promise<number> {
    const { failure } = this;
    this.failure = null;
    if (failure === 'lost') this.#fail();
    if (last !== this.messages.length) throw new WrongSequence();
    this.messages.push(bytes);
    if (failure) this.#fail();
    return this.messages.length;
  }

  async last(): Promise<LastBlock | null> {
    const bytes = this.messages.at(-1);
    return bytes ? { seq: this.messages.length, bytes } : null;
  }

  fence(): void {
    const head = { node: 'h1', incarnation: 'other', epoch: EPOCH, at: { seq: 0, total: 0 } };
    const next = this.messages.reduce((at, bytes) => at + decodeBlock(bytes).head.count, 1);
    this.messages.push(new BlockWriter().finish({ ...head, type: 'fence', first: next, next }));
  }

  /** Messages of the lines, `gap`, or `fence`. */
  get texts(): string[] {
    return this.messages.flatMap((bytes) => {
      const { head, frames } = decodeBlock(bytes);
      if (head.type === 'fence') return ['fence'];
      return frames.map(({ json }) => (JSON.parse(json) as { message?: string }).message ?? 'gap');
    });
  }

  #fail(): never {
    this.failed.resolve();
    throw new Error('timeout');
  }
}

function node() {
  const ring = createRing({ bytes: 2 ** 20, slots: 4096, fronts: 1 }, 1);
  const fenced = new Deferred();
  /** What `failed` was told. */
  const failures: (string | null)[] = [];
  const publisher = new Publisher({
    frames: new OwnFrames(new RingReader(ring, 0), EPOCH),
    node: 'h1',
    incarnation: 'one',
    epoch: EPOCH,
    first: 1,
    total: () => ({ seq: 0, total: 0 }),
    moved: () => {},
    fenced: () => fenced.resolve(),
    failed: (thrown) => failures.push(thrown === null ? null : (thrown as Error).message),
  });
  const identity = { ring, epoch: EPOCH, hashKey: '11'.repeat(16) };
  const broadcaster = new Broadcaster(identity, () => publisher.wake());
  publishers.push(publisher);
  const log = (message: string): void =>
    void broadcaster.publish([
      {
        kind: 'log',
        timestamp_ms: 1,
        level: 'info',
        scope: 'bot',
        session_id: 'bot',
        transport: null,
        direction: null,
        message_json: messageJson(message),
      },
    ]);
  return { publisher, log, fenced: fenced.promise, failures };
}

let publishers: Publisher[] = [];
afterEach(() => {
  for (const publisher of publishers) publisher.end();
  publishers = [];
});

it.each(['lost', 'answer lost'] as const)(
  'a line is there once when a publish is %s',
  async (failure) => {
    const subject = new Subject();
    const { publisher, log } = node();
    publisher.open(subject, ['bot']);
    subject.failure = failure;
    log('one');
    await subject.failed.promise;
    log('two');
    await publisher.flushed();
    expect(subject.texts).toEqual(['one', 'two']);
  },
);

it('works again, as it says, when the answer that was lost was that of the last block', async () => {
  const subject = new Subject();
  const { publisher, log, failures } = node();
  publisher.open(subject, ['bot']);
  subject.failure = 'answer lost';
  log('one');
  await subject.failed.promise;
  await publisher.flushed();
  await expect.poll(() => failures.at(-1)).toBe(null);
  expect(failures).toContain('timeout');
  expect(subject.texts).toEqual(['one']);
});

it('a fence that is found after a lost answer is not passed until main says that the node holds its lease', async () => {
  const subject = new Subject();
  const { publisher, log, fenced } = node();
  publisher.open(subject, ['bot']);
  log('one');
  await publisher.flushed();
  subject.failure = 'lost';
  log('two');
  await subject.failed.promise;
  subject.fence();
  await fenced;
  // Nor when the stream is joined again.
  publisher.resume(subject);
  expect(subject.texts).toEqual(['one', 'fence']);
  publisher.open(subject, ['bot']);
  await publisher.flushed();
  expect(subject.texts).toEqual(['one', 'fence', 'two']);
});

it('lines of bots that were placed here since are not left out when the stream is joined again', async () => {
  const subject = new Subject();
  const { publisher, log } = node();
  log('before');
  publisher.open(subject, []);
  await publisher.flushed();
  subject.failure = 'lost';
  log('since');
  await subject.failed.promise;
  publisher.resume(subject);
  await publisher.flushed();
  expect(subject.texts).toEqual(['gap', 'since']);
});
