// Runs in the bus thread. Publishes the frames of the node's own stream as blocks, in order, each once.
//
// One block is on its way at a time. It names the sequence of the last message of the node's subject, so JetStream takes it only if it
// is the next. When the answer is lost, the last message of the subject says what JetStream has. A fence there means that the node's
// lease has run out: nothing is published until main says so.

import { setTimeout as delay } from 'node:timers/promises';
import { Deferred } from '../../shared/deferred.js';
import type { BlockHead, Total } from './block.js';
import { BlockWriter, type SignHead } from './block-writer.js';
import type { OwnFrames } from './own-frames.js';

/** Frames wait this long for others, in ms: a block costs a message on each node. Longer when there are many. */
const GATHER_MS = 5;
const GATHER_MANY_MS = 14;
/** Frames of a block after which there are many. */
const MANY = 256;
const RETRY_MS = 250;
/** A journal that cannot be read for so long, in ms, does not keep later frames from the stream. */
const JOURNAL_MS = 60_000;

/** The last message of the node's subject. */
export interface LastBlock {
  seq: number;
  /** The last block there: the same, unless others have written what is none. Null when none is found. */
  block: { seq: number; head: BlockHead } | null;
}

/** What the publisher needs of JetStream. */
export interface BlockSink {
  /** @returns the sequence of the message. @throws {@link WrongSequence} when `last` is not that of the subject's last message. */
  publish(bytes: Uint8Array, last: number): Promise<number>;
  /** Signs the head of a block that follows the message `last`. */
  sign(last: number): SignHead;
  /** The last message of the node's subject, null when there is none. @param from sequence from which on its last block may be. */
  last(from: number): Promise<LastBlock | null>;
}

/** The subject has another last message than was expected. */
export class WrongSequence extends Error {}

export interface PublisherOptions {
  frames: OwnFrames;
  node: string;
  incarnation: string;
  epoch: string;
  /** First number of this run in the node's own stream. */
  first: number;
  /** What this node has counted on the stream. */
  total: () => Total;
  /** Called with the number of the next frame to publish when that is another. */
  moved: (next: number) => void;
  /** Another node has ended this one's place on the subject. */
  fenced: () => void;
  /** Called with each failure, and with null when it works again. */
  failed: (thrown: unknown) => void;
}

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #writer = new BlockWriter();
  #sink: BlockSink | null = null;
  /** Number of the next frame to publish; undefined until the subject's last message is known. */
  #cursor: number | undefined;
  /** The last that the cursor was: the subject's messages may have left the window. */
  #sent = 0;
  /** Sequence of the last message of the subject, and of its last block. */
  #last = 0;
  #lastBlock = 0;
  #isHeld = true;
  /** The last block had many frames. */
  #hasMany = false;
  /** Main has said that the node holds its lease, after all fences that the next look at the subject finds. */
  #mayPassFence = false;
  #isRunning = false;
  #isEnded = false;
  /** Asked for by {@link finished}. */
  #end: Deferred | undefined;
  #hasEnded = false;
  #journalFailsSince = 0;
  #bell = new Deferred();
  readonly #published: { seq: number; done: Deferred }[] = [];

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Number of the next frame to publish, as far as is known. */
  get next(): number {
    return this.#cursor ?? Math.max(this.#options.first, this.#sent);
  }

  /** Begins: the node holds its lease. */
  open(sink: BlockSink, keep: readonly string[]): void {
    this.#options.frames.select({ before: this.#options.frames.head, keep: new Set(keep) });
    this.#mayPassFence = true;
    this.#isHeld = false;
    this.resume(sink);
    if (!this.#isRunning) void this.#run();
  }

  /** The stream was joined again: continues where it was. Frames since {@link open} are not left out, and a fence is not passed. */
  resume(sink: BlockSink): void {
    this.#sink = sink;
    // What the subject's last message is may have changed meanwhile.
    this.#cursor = undefined;
    this.wake();
  }

  /** Publishes nothing until {@link open}. */
  hold(): void {
    this.#isHeld = true;
  }

  end(): void {
    this.#isEnded = true;
    this.wake();
  }

  /** There are new frames, or something has changed. */
  wake(): void {
    this.#bell.resolve();
  }

  /** Resolves when all frames that exist now are on the stream. */
  async flushed(): Promise<void> {
    const { head } = this.#options.frames;
    if (this.#cursor !== undefined && this.#cursor >= head) return;
    const done = new Deferred();
    this.#published.push({ seq: head, done });
    this.wake();
    await done.promise;
  }

  /** Like {@link flushed}. Then the stream says that this run has published all that it had. */
  async finished(): Promise<void> {
    await this.flushed();
    this.#end ??= new Deferred();
    this.wake();
    await this.#end.promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (!this.#isEnded) {
      if (!this.#isHeld && (await this.#next())) continue;
      const { frames } = this.#options;
      // Held, it is woken by open() only.
      if (this.#isHeld || frames.arm(this.#cursor ?? frames.head)) {
        await this.#bell.promise;
        this.#bell = new Deferred();
      }
      if (!this.#isEnded) await delay(this.#hasMany ? GATHER_MANY_MS : GATHER_MS);
    }
    this.#isRunning = false;
  }

  /** Publishes one block. @returns false when there is nothing to publish. */
  async #next(): Promise<boolean> {
    const { frames, failed } = this.#options;
    try {
      if (this.#cursor === undefined) await this.#recover();
      if (this.#isHeld || this.#cursor === undefined) return false;
      const from = this.#cursor;
      if (from >= frames.head) {
        if (this.#end && !this.#hasEnded) await this.#publish({ first: from, next: from });
        // The block whose answer was lost was the last one, and is there.
        failed(null);
        return false;
      }
      const taken = await this.#take(from);
      if (!taken) return true;
      if (this.#writer.count === 0) this.#moveTo(taken.next);
      else await this.#publish(taken);
      failed(null);
      return true;
    } catch (thrown) {
      failed(thrown);
      // The frames stay where they are: they are read again.
      this.#writer.reset();
      this.#cursor = undefined;
      await delay(RETRY_MS);
      return true;
    }
  }

  async #take(from: number): Promise<{ first: number; next: number } | null> {
    try {
      const taken = await this.#options.frames.take(from, this.#writer);
      this.#journalFailsSince = 0;
      return taken;
    } catch (thrown) {
      this.#writer.reset();
      this.#journalFailsSince ||= performance.now();
      if (performance.now() - this.#journalFailsSince > JOURNAL_MS) return this.#lose(from);
      this.#options.failed(thrown);
      await delay(RETRY_MS);
      return null;
    }
  }

  #lose(from: number): { first: number; next: number } {
    return this.#options.frames.lose(from, this.#writer);
  }

  /** A block without frames says that there will be none. */
  async #publish({ first, next }: { first: number; next: number }): Promise<void> {
    const { node, incarnation, epoch, total } = this.#options;
    this.#hasMany = this.#writer.count >= MANY;
    const isEnd = this.#writer.count === 0;
    const sink = this.#sink as BlockSink;
    const bytes = this.#writer.finish(
      {
        ...{ node, incarnation, type: 'frames', epoch, first, next, at: total() },
        ...(isEnd && { end: true }),
      },
      sink.sign(this.#last),
    );
    try {
      this.#last = await sink.publish(bytes, this.#last);
      this.#lastBlock = this.#last;
      this.#moveTo(next);
      if (!isEnd) return;
      this.#hasEnded = true;
      this.#end?.resolve();
    } catch (thrown) {
      if (!(thrown instanceof WrongSequence)) throw thrown;
      // It may be there: an earlier answer was lost.
      this.#cursor = undefined;
      await this.#recover(true);
    }
  }

  /** Finds out what JetStream has. @param wasRefused whether a block was: then only an own block explains another one that is new. */
  async #recover(wasRefused = false): Promise<void> {
    const { epoch, first, incarnation } = this.#options;
    const last = await (this.#sink as BlockSink).last(this.#lastBlock);
    const head = last?.block?.head ?? null;
    const isOther = last?.block?.seq !== this.#lastBlock;
    const isOwn = head?.type === 'frames' && head.incarnation === incarnation;
    // Also without a refusal: after a partition the last answer is lost, and the fence is found here.
    const isFenced = head?.type === 'fence' && !this.#mayPassFence;
    if (isFenced || (wasRefused && head && isOther && !isOwn)) {
      this.#isHeld = true;
      this.#options.fenced();
      return;
    }
    this.#mayPassFence = false;
    if (head?.type === 'fence') this.#options.frames.fenced(first);
    this.#last = last?.seq ?? 0;
    this.#lastBlock = last?.block?.seq ?? this.#lastBlock;
    // After a fence too: the frames of this numbering before it are there.
    const isSame = head !== null && head.epoch === epoch;
    this.#moveTo(isSame ? head.next : Math.max(first, this.#sent));
  }

  #moveTo(next: number): void {
    this.#cursor = next;
    this.#sent = next;
    this.#options.moved(next);
    while ((this.#published[0]?.seq ?? Number.POSITIVE_INFINITY) <= next) {
      this.#published.shift()?.done.resolve();
    }
  }
}
