// Runs in the bus thread. Reads frames of the cluster's stream by their numbers from JetStream, for streams that resume behind the ring.

import { randomBytes } from 'node:crypto';
import type { ReplayPart, ReplayRequest } from '../../shared/contract/journal-messages.js';
import { NameHasher } from '../../shared/contract/name-hash.js';
import { DroverError } from '../../shared/errors.js';
import { createNodeNames, NodeNamesWriter } from '../../shared/memory/node-names.js';
import { Semaphore } from '../../shared/semaphore.js';
import { Filter } from '../../shared/stream/filter.js';
import { LabelHistory } from '../../shared/stream/label-history.js';
import { Cut } from '../../shared/stream/replay-cut.js';
import { reasonOf } from '../wire/reasons.js';
import { type BlockReader, totalBefore } from './block-reader.js';
import type { EventStream, StreamFacts } from './event-stream.js';
import { WindowBlock } from './window-block.js';

/** Parts that are read at once. More wait; the fronts bound how many come. */
const REPLAYS = { permits: 4, maxQueued: 1000 };
/** After so many ms a part ends, and the next request continues. */
const REPLAY_MS = 50;
/** Messages whose first number is remembered; the oldest are forgotten, and are searched for again. */
const MAX_PLACES = 16_384;
/** Of the messages that come in, each so-many-th is remembered. */
const EVERY = 16;

/** A message of the stream, and the number of its first frame. */
interface MessageStart {
  seq: number;
  first: number;
}

export interface WindowParts {
  stream: () => Pick<EventStream, 'facts' | 'reader'> | undefined;
  /** Numbering of the ring; undefined while there is none. */
  epoch: () => string | undefined;
  /** Number of the next frame of the ring. */
  next: () => number;
  /** Reads from the journals of the nodes what is below the number `before`. */
  behind: (epoch: string, request: ReplayRequest, before: number, cut: Cut) => Promise<ReplayPart>;
}

export class Window {
  readonly #parts: WindowParts;
  readonly hasher = new NameHasher(randomBytes(32).toString('hex'));
  readonly nodes = new NodeNamesWriter(createNodeNames());
  readonly #replays = new Semaphore(REPLAYS);
  /** Of the numbering `#epoch`, in the order in which they were learned. */
  readonly #places = new Map<number, number>();
  #epoch = '';

  constructor(parts: WindowParts) {
    this.#parts = parts;
  }

  /** A message was read from the stream. */
  saw(seq: number, first: number): void {
    this.#turn();
    if (seq % EVERY === 0) this.#learn(seq, first);
  }

  /** Rejects with `unavailable` while NATS cannot be asked. A part without a first frame says that the window does not have them. */
  async replay(request: ReplayRequest, cancelled?: AbortSignal): Promise<ReplayPart> {
    try {
      return await this.#replays.run(() => this.#replay(request), cancelled);
    } catch (thrown) {
      if (thrown instanceof DroverError) throw thrown;
      // Streams ask again; it is no fault of this service.
      throw new DroverError('unavailable', reasonOf(thrown));
    }
  }

  async #replay(request: ReplayRequest): Promise<ReplayPart> {
    const stream = this.#parts.stream();
    const epoch = this.#parts.epoch();
    if (!stream || epoch === undefined) {
      throw new DroverError('unavailable', 'the stream of the cluster is not there');
    }
    this.#turn();
    const filter =
      request.filter === null
        ? null
        : Filter.ofKey(request.filter, this.hasher, new LabelHistory(), this.nodes);
    const cut = new Cut(request, filter);
    // The labels that a bot had then are not known: the client gets a gap.
    if (filter?.isLabelled) return cut.part(null, request.from);
    const facts = await stream.facts();
    const part = await this.#read(stream.reader(), facts, request, cut);
    // What was read from a stream that was made again meanwhile has other numbers.
    const after = await stream.facts();
    if (facts.epoch !== epoch || after.epoch !== epoch) {
      throw new DroverError('unavailable', 'the stream of the cluster was made again');
    }
    return part;
  }

  async #read(
    reader: BlockReader,
    facts: StreamFacts,
    request: ReplayRequest,
    cut: Cut,
  ): Promise<ReplayPart> {
    const { from, maxBytes } = request;
    const place = await this.#find(reader, facts, from);
    const begins = place?.first ?? this.#parts.next();
    if (begins > from) return this.#parts.behind(facts.epoch, request, begins, cut);
    if (!place) return cut.part(null, from);
    let { seq, first } = place;
    let next = from;
    while (seq <= facts.last) {
      const found = await reader.at(seq);
      if (!found) break;
      const { head, frames } = found;
      // The numbers may have a hole here: the next request declares it.
      const isCounted = head.type !== 'none' && head.at.seq === seq - 1;
      if (isCounted && head.at.total + 1 !== first) break;
      const block = new WindowBlock({ head, frames }, first, {
        epoch: facts.epoch,
        hasher: this.hasher,
        nodes: this.nodes,
      });
      if (block.next > next) next = cut.take(block, next);
      if (next < block.next) break;
      seq += 1;
      first = block.next;
      if (cut.size >= maxBytes || performance.now() > cut.began + REPLAY_MS) break;
    }
    // The next request begins at this message.
    this.#learn(seq, first);
    return next > from ? cut.part(from, next) : cut.part(null, from);
  }

  /** The last message that begins at `number` or before, else the first after it; null when there is none with that frame or later. */
  async #find(
    reader: BlockReader,
    { first, last }: StreamFacts,
    number: number,
  ): Promise<MessageStart | null> {
    let low: MessageStart | null = null;
    let lowSeq = first;
    let highSeq = last;
    let after: MessageStart | null = null;
    for (const [seq, begins] of this.#places) {
      if (seq < first || seq > last) continue;
      if (begins <= number && seq >= lowSeq) {
        low = { seq, first: begins };
        lowSeq = seq;
      } else if (begins > number && seq - 1 < highSeq) {
        highSeq = seq - 1;
        after = { seq, first: begins };
      }
    }
    // Binary search: `low` begins at the number or before, what is above `highSeq` begins after it.
    while (lowSeq <= highSeq) {
      const seq =
        low?.seq === lowSeq ? Math.ceil((lowSeq + highSeq + 1) / 2) : (lowSeq + highSeq) >> 1;
      if (seq > highSeq) break;
      const begins = await this.#firstOf(reader, seq);
      if (begins === null) {
        // It has left the window, or what is needed to count it has.
        if (low) return null;
        lowSeq = seq + 1;
      } else if (begins <= number) {
        low = { seq, first: begins };
        lowSeq = seq;
      } else {
        after = { seq, first: begins };
        highSeq = seq - 1;
      }
    }
    if (!low) return after;
    const count = (await reader.at(low.seq))?.head.count ?? 0;
    return low.first + count > number ? low : after;
  }

  /** Number of the first frame of a message; null when it, or what is needed to count it, has left the window. */
  async firstOf(seq: number): Promise<number | null> {
    const stream = this.#parts.stream();
    if (!stream) return null;
    this.#turn();
    return this.#firstOf(stream.reader(), seq);
  }

  async #firstOf(reader: BlockReader, seq: number): Promise<number | null> {
    const known = this.#places.get(seq);
    if (known !== undefined) return known;
    const total = await totalBefore(reader, seq);
    if (total === null) return null;
    this.#learn(seq, total + 1);
    return total + 1;
  }

  #learn(seq: number, first: number): void {
    this.#places.delete(seq);
    this.#places.set(seq, first);
    if (this.#places.size > MAX_PLACES) {
      this.#places.delete(this.#places.keys().next().value as number);
    }
  }

  /** Forgets the numbers of another stream. */
  #turn(): void {
    const epoch = this.#parts.epoch() ?? '';
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#places.clear();
  }
}
