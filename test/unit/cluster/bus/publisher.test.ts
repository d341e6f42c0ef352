import { afterEach, describe, expect, it } from 'vitest';
import { Broadcaster } from '../../../../src/broadcaster/broadcaster.js';
import { decodeBlock } from '../../../../src/cluster/bus/block.js';
import { BlockWriter, type SignHead } from '../../../../src/cluster/bus/block-writer.js';
import { OwnFrames } from '../../../../src/cluster/bus/own-frames.js';
import {
  type BlockSink,
  type LastBlock,
  Publisher,
  WrongSequence,
} from '../../../../src/cluster/bus/publisher.js';
import { messageJson } from '../../../../src/shared/contract/line-text.js';
import { Deferred } from '../../../../src/shared/deferred.js';
import { createRing } from '../../../../src/shared/memory/layout.js';
import { RingReader } from '../../../../src/shared/memory/ring-reader.js';
import { eventId, gapJson, sseFrame } from '../../../../src/shared/stream/frame.js';

/** Of somebody else. */
const NO_BLOCK = Buffer.from('12345');
const EPOCH = 'abcdef0123';

/** The subject of a node, as JetStream has it. */
class Subject implements BlockSink {
  readonly messages: Uint8Array[] = [];
  /** The next publish gets no answer: before or after the message is stored. */
  failure: 'lost' | 'answer lost' | null = null;
  failed = new Deferred();

  async publish(bytes: Uint8Array, last: number): Promise<number> {
    const { failure } = this;
    this.failure = null;
    if (failure === 'lost') this.#fail();
    if (last !== this.messages.length) throw new WrongSequence();
    this.messages.push(bytes);
    if (failure) this.#fail();
    return this.messages.length;
  }

  sign(): SignHead {
    return (head) => head;
  }

  async last(): Promise<LastBlock | null> {
    const seq = this.messages.length;
    const at = this.messages.findLastIndex((bytes) => bytes !== NO_BLOCK);
    const bytes = this.messages[at];
    return seq > 0
      ? { seq, block: bytes ? { seq: at + 1, head: decodeBlock(bytes).head } : null }
      : null;
  }

  /** What an earlier run has published last: up to this number, and all that it had or not. */
  earlier(next: number, end: boolean): void {
    const head = { node: 'h1', incarnation: 'zero', epoch: EPOCH, at: { seq: 0, total: 0 } };
    const writer = new BlockWriter();
    this.messages.push(writer.finish({ ...head, type: 'frames', first: next, next, end }));
  }

  fence(next = this.#blocks.reduce((at, bytes) => at + decodeBlock(bytes).head.count, 1)): void {
    const head = { node: 'h1', incarnation: 'other', epoch: EPOCH, at: { seq: 0, total: 0 } };
    this.messages.push(new BlockWriter().finish({ ...head, type: 'fence', first: next, next }));
  }

  get #blocks(): Uint8Array[] {
    return this.messages.filter((bytes) => bytes !== NO_BLOCK);
  }

  /** Messages of the lines, `gap`, or `fence`. */
  get texts(): string[] {
    return this.#blocks.flatMap((bytes) => {
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

/** @param first number of the run's first frame. @param journaled frames of the run before it, which are in the journal only. */
function node(first = 1, journaled: readonly string[] = []) {
  const ring = createRing({ bytes: 2 ** 20, slots: 4096, fronts: 1 }, first);
  const fenced = new Deferred();
  /** What `failed` was told. */
  const failures: (string | null)[] = [];
  const frames = new OwnFrames(new RingReader(ring, 0), EPOCH);
  frames.journal = {
    replay: async ({ from }) => {
      const found = journaled.filter((frame) => numberOf(frame) >= from);
      const [oldest] = found;
      const bytes = Buffer.from(found.join(''));
      const part = { first: oldest ? numberOf(oldest) : first, next: first, bytes };
      return { ...part, pieces: [], firstIsGap: false, readMs: 0 };
    },
  };
  const publisher = new Publisher({
    frames,
    node: 'h1',
    incarnation: 'one',
    epoch: EPOCH,
    first,
    total: () => ({ seq: 0, total: 0 }),
    moved: () => {},
    fenced: () => fenced.resolve(),
    failed: (thrown) => failures.push(thrown === null ? null : (thrown as Error).message),
  });
  const identity = { ring, epoch: EPOCH, hashKey: '11'.repeat(16) };
  const broadcaster = new Broadcaster(identity, () => publisher.wake());
  publishers.push(publisher);
  const log = (message: string, bot: string | null = 'bot'): void =>
    void broadcaster.publish([
      {
        kind: 'log',
        timestamp_ms: 1,
        level: 'info',
        scope: 'bot',
        session_id: bot,
        transport: null,
        direction: null,
        message_json: messageJson(message),
      },
    ]);
  return { publisher, log, fenced: fenced.promise, failures };
}

const numberOf = (frame: string): number => Number(/^id: \S+-(\d+)$/m.exec(frame)?.[1]);
const line = (seq: number, message: string, bot: string): string =>
  sseFrame(eventId(EPOCH, seq), 'log', JSON.stringify({ message, session_id: bot, level: 'info' }));
/** As a journal declares what the run before has lost when it was killed. */
const loss = (from: number, to: number): string =>
  sseFrame(eventId(EPOCH, to), 'gap', gapJson(eventId(EPOCH, from), eventId(EPOCH, to), null));

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

it.each([0, 1])('what is no block on its subject is passed, after %s own blocks', async (own) => {
  const subject = new Subject();
  const { publisher, log } = node();
  publisher.open(subject, ['bot']);
  const lines = Array.from({ length: own }, (_, n) => `line ${n}`);
  for (const one of lines) log(one);
  await publisher.flushed();
  subject.messages.push(NO_BLOCK, NO_BLOCK);
  log('after');
  await publisher.flushed();
  subject.messages.push(NO_BLOCK);
  publisher.resume(subject);
  log('again');
  await publisher.flushed();
  expect(subject.texts).toEqual([...lines, 'after', 'again']);
});

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

describe('a run after one that was killed', () => {
  const tail = [line(40, 'kept', 'bot'), line(41, 'moved', 'other'), loss(42, 49)];

  it.each([
    ['declares once what is lost, in several parts too', 40, tail, ['kept', 'gap', 'started']],
    ['declares once what no journal has', 40, tail.slice(2), ['gap', 'started']],
    [
      'declares what it had not published, where the journal has less',
      45,
      tail,
      ['gap', 'started'],
    ],
  ])('%s', async (_, published, journaled, texts) => {
    const subject = new Subject();
    subject.earlier(published, false);
    const { publisher, log } = node(50, journaled);
    log('started', null);
    publisher.open(subject, ['bot']);
    await publisher.flushed();
    expect(subject.texts).toEqual(texts);
  });

  it('declares nothing that the fence has declared', async () => {
    const subject = new Subject();
    subject.earlier(40, false);
    subject.fence(40);
    const { publisher, log } = node(50, tail);
    log('started', null);
    log('of a bot that is elsewhere', 'other');
    publisher.open(subject, ['bot']);
    await publisher.flushed();
    expect(subject.texts).toEqual(['fence', 'kept', 'started']);
  });
});

it('a run that is stopped in order says so, and the next one has lost nothing', async () => {
  const subject = new Subject();
  const { publisher, log } = node();
  publisher.open(subject, ['bot']);
  log('last');
  await publisher.finished();
  const { head } = decodeBlock(subject.messages.at(-1) as Uint8Array);
  expect(head).toMatchObject({ type: 'frames', count: 0, next: 2, end: true });
  const next = node(2);
  next.log('first');
  next.publisher.open(subject, ['bot']);
  await next.publisher.flushed();
  expect(subject.texts).toEqual(['last', 'first']);
});
