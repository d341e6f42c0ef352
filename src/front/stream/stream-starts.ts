import { FRONT_CELLS } from '../../shared/contract/metric-layout.js';
import type { Counters } from '../../shared/memory/counters.js';
import type { RingReader } from '../../shared/memory/ring-reader.js';
import type { Filter } from '../../shared/stream/filter.js';
import { eventId, FRAME_START } from '../../shared/stream/frame.js';
import { gapFrame, positionComment, resumePoint } from '../../shared/stream/stream-text.js';
import { InitialState, type SnapshotFrames, type SnapshotFramesAt } from './initial-state.js';
import type { Subscriber, SubscribeStart } from './subscriber.js';

/**
 * Starts at once whose query needs several slices: each keeps the snapshots of its moment. A further one starts with those of the moment
 * at which there is room.
 */
const MAX_SLOW = 8;

/** The options of a new subscriber. */
export interface SubscribeOptions {
  filter: Filter | null;
  /** Sent before everything else: `retry:`, as part of the first block. */
  opening: string;
  lastEventId: string;
  snapshots: boolean;
  /** The client asked for the stream of this node, not for the default. */
  isOwn: boolean;
  /** Called once, when the fan-out has dropped the stream. */
  removed: () => void;
}

export interface StreamStartsOptions {
  reader: Pick<RingReader, 'head' | 'tail' | 'used' | 'capacity'>;
  /** The most bytes that one write sends in one piece. */
  maxWriteBytes: number;
  epoch: string;
  /** Other nodes show this stream too: a client may come with an id that is not on this ring yet. */
  isShared: boolean;
  snapshots: SnapshotFrames;
  counters: Counters;
}

/** Decides where streams start and what they get first: at the beginning, after a loss, and after a replay. */
export class StreamStarts {
  readonly #options: StreamStartsOptions;
  readonly #slow = new Set<Subscriber>();

  constructor(options: StreamStartsOptions) {
    this.#options = options;
  }

  /** Sets the cursor of a new subscriber. @returns whether its frames have to come from the journal first. */
  begin(subscriber: Subscriber, wanted: SubscribeOptions, hasJournal: boolean): boolean {
    const { opening, lastEventId, snapshots } = wanted;
    const { filter } = subscriber.group;
    const { reader, epoch, isShared } = this.#options;
    // A client that comes from a node which is ahead waits for what it lacks.
    const newest = isShared ? Number.POSITIVE_INFINITY : reader.head();
    const resume = resumePoint(lastEventId, epoch, newest);
    if (resume.kind === 'at') {
      subscriber.resumes = true;
      const isOnRing = resume.next >= this.oldest(filter);
      if (isOnRing || hasJournal) {
        subscriber.cursor = resume.next;
        const parts = new InitialState([Buffer.from(opening)]);
        subscriber.state = { type: 'initial', parts };
        return !isOnRing;
      }
    }
    const start: SubscribeStart =
      resume.kind === 'live'
        ? { opening, loss: null, snapshots }
        : { opening, loss: this.#lossAt(resume), snapshots: true };
    subscriber.state = { type: 'starting', start };
    this.prepare(subscriber, start);
    return false;
  }

  /**
   * Gives a subscriber its initial state: the gap if there was a loss, the current snapshots, and its position. The position is
   * the id of the gap, else of the last snapshot, else a comment.
   * @returns false while the snapshots are not current or not all looked at; the next pass tries again.
   */
  prepare(subscriber: Subscriber, start: SubscribeStart): boolean {
    const { opening, loss, snapshots, at } = start;
    const { epoch, snapshots: source, counters, maxWriteBytes } = this.#options;
    const { filter } = subscriber.group;
    const current =
      snapshots && filter?.hasQuery
        ? this.#chosen(subscriber, start, filter)
        : source.frames(filter, snapshots);
    if (!current) return false;
    const next = at ?? current.next;
    let head = opening;
    let { last } = current;
    if (loss) {
      const dropped = loss.first === null || filter ? null : next - loss.first;
      head += gapFrame(epoch, loss.from, next, dropped);
      counters.add(FRONT_CELLS.gaps, 1);
    } else if (last === '') {
      head += positionComment(epoch, next);
    } else {
      last = `${FRAME_START}${eventId(epoch, next - 1)}\n${last}`;
    }
    const pieces = [Buffer.from(head), ...current.parts, Buffer.from(last)];
    subscriber.state = {
      type: 'initial',
      parts: new InitialState(joined(pieces, maxWriteBytes)),
    };
    subscriber.cursor = next;
    return true;
  }

  #chosen(
    subscriber: Subscriber,
    start: SubscribeStart,
    filter: Filter,
  ): SnapshotFramesAt | undefined {
    const { snapshots: source } = this.#options;
    if (start.isSlow && !start.choice && !this.#hasRoom()) return undefined;
    const choice = start.choice ?? source.choice(filter);
    if (!choice) return undefined;
    if (choice.look()) {
      this.#slow.delete(subscriber);
      return source.chosen(choice);
    }
    start.isSlow = true;
    if (!start.choice && this.#hasRoom()) {
      start.choice = choice;
      this.#slow.add(subscriber);
    }
    return undefined;
  }

  /** Whether another start may keep the snapshots of its moment. */
  #hasRoom(): boolean {
    for (const other of this.#slow) if (other.hasLeft) this.#slow.delete(other);
    return this.#slow.size < MAX_SLOW;
  }

  /** Everything from the cursor on is lost: the stream starts over with the current state. */
  over({ cursor }: Subscriber): SubscribeStart {
    return { opening: '', loss: this.#lossAt({ next: cursor }), snapshots: true };
  }

  /**
   * Frames before `next` are lost. How many there were is not known on a node's own stream: not every number was used. On that of a
   * cluster each is.
   */
  afterHole({ cursor }: Subscriber, next: number): SubscribeStart {
    const { epoch, isShared } = this.#options;
    const loss = { from: eventId(epoch, cursor), first: isShared ? cursor : null };
    return { opening: '', loss, snapshots: true, at: next };
  }

  /** The oldest frame that the ring has for this filter: the front may not know the labels of older ones. */
  oldest(filter: Filter | null): number {
    return Math.max(this.#options.reader.tail(), filter?.since ?? 0);
  }

  /**
   * Whether a replay can end at this cursor: in the newer half of the ring, or anywhere on one that is not half full, it is
   * not lapped at once. Not to be called while the ring is protected.
   */
  isOnRing(cursor: number, filter: Filter | null): boolean {
    const { reader } = this.#options;
    const tail = reader.tail();
    if (cursor < Math.max(tail, filter?.since ?? 0)) return false;
    return (
      cursor - tail >= (reader.head() - tail) / 2 || reader.used().bytes <= reader.capacity / 2
    );
  }

  #lossAt(point: { from: string } | { next: number }): NonNullable<SubscribeStart['loss']> {
    if ('from' in point) return { from: point.from, first: null };
    return { from: eventId(this.#options.epoch, point.next), first: point.next };
  }
}

/** Joins neighbours that fit into one write: each write is a system call, and a crowd that comes back waits for them. */
function joined(pieces: readonly Uint8Array[], maxBytes: number): Uint8Array[] {
  const writes: Uint8Array[] = [];
  let together: Uint8Array[] = [];
  let size = 0;
  const end = (): void => {
    // Many subscribers share a single piece, so it is not copied.
    if (size > 0)
      writes.push(together.length === 1 ? (together[0] as Uint8Array) : Buffer.concat(together));
    together = [];
    size = 0;
  };
  for (const piece of pieces) {
    if (piece.length === 0) continue;
    if (size + piece.length > maxBytes) end();
    together.push(piece);
    size += piece.length;
  }
  end();
  return writes;
}
