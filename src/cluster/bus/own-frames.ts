// Runs in the bus thread. Reads the frames of the node's own stream, for blocks: from the ring, and from the journal what has left it.

import type { BotSnapshot } from '../../shared/contract/events.js';
import type { ReplayPart, ReplayRequest } from '../../shared/contract/journal-messages.js';
import type { RingReader } from '../../shared/memory/ring-reader.js';
import { eventId, gapJson, KIND_CODE, NO_LEVEL } from '../../shared/stream/frame.js';
import type { BlockWriter } from './block-writer.js';
import { namesIn, readFrames } from './replayed-frames.js';

/** Frames and bytes that are read under one protection of the ring, so that the broadcaster does not wait. */
const STEP_FRAMES = 512;
const STEP_BYTES = 128 * 1024;
/** Of the journal. The data of a part fits into an empty block. */
const PART_BYTES = 512 * 1024;
/** Names whose hashes are cached; the cache is cleared when it is full. */
const MAX_NAMES = 65_536;
const KIND_LENGTH: Readonly<Record<number, number>> = {
  [KIND_CODE.log]: 3,
  [KIND_CODE.session]: 7,
  [KIND_CODE.gap]: 3,
  [KIND_CODE.alert]: 5,
  [KIND_CODE.activity]: 8,
  [KIND_CODE.operation]: 9,
};
/** `id: `, `-`, `\nevent: ` and `\ndata: ` around epoch, number and kind. */
const AROUND = 'id: '.length + 1 + '\nevent: '.length + '\ndata: '.length;
const FRAME_END = 2;
/** The snapshot of a bot that has left this node is of no interest to others. */
const MOVED = '"status":"moved"';

export interface OwnJournal {
  replay(request: ReplayRequest): Promise<ReplayPart>;
}

/** Which of the frames that were read go into a block. */
export interface Selection {
  /** Frames before this number are left out, unless their bot is in `keep`, or they are lines of no bot. */
  before: number;
  keep: ReadonlySet<string>;
}

/** What was read: the frames from `first` on, and where to continue. */
export interface Taken {
  first: number;
  next: number;
}

export class OwnFrames {
  readonly #ring: RingReader;
  readonly #epoch: string;
  readonly #sessions = new NameCache();
  readonly #scopes = new NameCache();
  /** Null while there is none. */
  journal: OwnJournal | null = null;
  /** The part after the last one, read while that is on its way to the stream. */
  #ahead: { from: number; part: Promise<ReplayPart> } | null = null;
  #selection: Selection = { before: 0, keep: new Set() };
  /** The lines that the selection leaves out are declared. */
  #isDeclared = false;
  /** Losses that begin before this number are declared: a fence has said so. */
  #fencedBelow = 0;
  /** Number after the last loss that was declared, or that continues it. */
  #lossEnd = -1;

  constructor(ring: RingReader, epoch: string) {
    this.#ring = ring;
    this.#epoch = epoch;
  }

  select(selection: Selection): void {
    this.#selection = selection;
    this.#isDeclared = false;
  }

  /** The last thing on the subject is a fence, which declares what the node had not published. @param below first number of this run. */
  fenced(below: number): void {
    this.#isDeclared = true;
    this.#fencedBelow = below;
  }

  get head(): number {
    return this.#ring.head();
  }

  /** Asks for a wake-up at the next frame. @returns false when there are frames from `next` on already. */
  arm(next: number): boolean {
    return this.#ring.arm(next);
  }

  /**
   * Adds frames from `from` on to the writer until it is full, or there are no more. Stops after frames that are left out, so that
   * the frames of a block follow each other.
   */
  async take(from: number, writer: BlockWriter): Promise<Taken> {
    const onRing = this.#fromRing(from, writer);
    return onRing ?? this.#fromJournal(from, writer);
  }

  /** Null after a lap. */
  #fromRing(from: number, writer: BlockWriter): Taken | null {
    const ring = this.#ring;
    const head = ring.head();
    const taken: Taken = { first: from, next: from };
    while (taken.next < head && !writer.isFull) {
      if (!ring.protect(taken.next)) return taken.next > taken.first ? taken : null;
      let isOver = false;
      try {
        isOver = this.#step(taken, Math.min(head, taken.next + STEP_FRAMES), writer);
      } finally {
        // On errors too: the broadcaster would wait for it.
        ring.release();
      }
      if (isOver) break;
    }
    return taken;
  }

  /** Reads up to `end`, which is protected. @returns whether frames were left out. */
  #step(taken: Taken, end: number, writer: BlockWriter): boolean {
    const ring = this.#ring;
    const { bytes, next } = ring.slice(taken.next, end, STEP_BYTES);
    // The data of frames, in a copy: the ring is shared memory.
    const copy = writer.piece(bytes) - ring.position(taken.next);
    for (let seq = taken.next; seq < next; seq++) {
      if (writer.isFull) return false;
      const kind = ring.kind(seq);
      const frame = copy + ring.position(seq);
      const from = frame + this.#dataAt(seq, kind);
      const to = frame + ring.length(seq) - FRAME_END;
      const text = (): string => writer.text(from, to);
      const session = this.#sessionOf(seq, text);
      if (!this.#isWanted(seq, kind, session, text)) {
        this.#skip(taken, seq, kind, writer);
        return true;
      }
      writer.addBytes(kind, ring.level(seq), session, this.#scopeOf(seq, text), from, to);
      taken.next = seq + 1;
    }
    return false;
  }

  /** Frame `seq` is not for others. What a bot was is not lost with its snapshots: others show it as it is. */
  #skip(taken: Taken, seq: number, kind: number, writer: BlockWriter): void {
    const isLost = seq < this.#selection.before && kind === KIND_CODE.log && !this.#isDeclared;
    if (isLost) this.#isDeclared = true;
    const isFirst = writer.count === 0;
    const isShown = isLost && this.#gap(seq, seq, writer);
    if (isFirst) taken.first = isShown ? seq : seq + 1;
    taken.next = seq + 1;
  }

  /** Frames up to `last` are lost to the stream of the cluster. @returns whether that is part of the block. */
  #gap(first: number, last: number, writer: BlockWriter): boolean {
    if (!this.#declares(first, last)) return false;
    const json = gapJson(eventId(this.#epoch, first), eventId(this.#epoch, last), null);
    writer.add(KIND_CODE.gap, NO_LEVEL, null, null, json);
    return true;
  }

  /** Whether a loss is to be declared: one that continues the last one is, and so is what was lost before a fence. */
  #declares(first: number, last: number): boolean {
    const isDeclared = first < this.#fencedBelow || first === this.#lossEnd;
    this.#lossEnd = last + 1;
    return !isDeclared;
  }

  /** Whether a frame is for the other nodes. */
  #isWanted(seq: number, kind: number, session: string | null, text: () => string): boolean {
    if (kind === KIND_CODE.gap) return this.#declares(seq, seq);
    const { before, keep } = this.#selection;
    // An alert that was not published in time was said by another node.
    if (seq < before && kind === KIND_CODE.alert) return false;
    // What was done here to a bot of another node is known here only.
    const isOfBot = session !== null && kind !== KIND_CODE.activity;
    if (seq < before && isOfBot && !keep.has(session)) return false;
    return kind !== KIND_CODE.session || !isMoved(text());
  }

  #dataAt(seq: number, kind: number): number {
    return AROUND + this.#epoch.length + digits(seq) + (KIND_LENGTH[kind] ?? 0);
  }

  #sessionOf(seq: number, text: () => string): string | null {
    const ring = this.#ring;
    const low = ring.sessionLow(seq);
    if (low === 0) return null;
    return this.#sessions.get(low, ring.sessionHigh(seq), () => namesIn(text()).session);
  }

  #scopeOf(seq: number, text: () => string): string | null {
    const ring = this.#ring;
    const low = ring.scopeLow(seq);
    if (low === 0) return null;
    return this.#scopes.get(low, ring.scopeHigh(seq), () => namesIn(text()).scope);
  }

  /** Declares the frames from `from` on as lost, up to `next` or the oldest on the ring. */
  lose(from: number, writer: BlockWriter, next = this.#ring.tail()): Taken {
    const end = Math.max(from + 1, Math.min(next, this.#ring.head()));
    this.#gap(from, end - 1, writer);
    return { first: end - 1, next: end };
  }

  /** After an outage that was longer than the ring. */
  async #fromJournal(from: number, writer: BlockWriter): Promise<Taken> {
    const ahead = this.#ahead;
    this.#ahead = null;
    const part = await (ahead?.from === from ? ahead.part : this.#read(from));
    const first = part?.first ?? null;
    if (!part || first === null || first > from || part.next <= from) {
      return this.lose(from, writer, first ?? undefined);
    }
    const taken: Taken = { first: from, next: from };
    for (const frame of readFrames(part.bytes)) {
      if (frame.seq < from) continue;
      if (frame.seq !== taken.next || writer.isFull) break;
      const { kind, level, session, scope, json } = frame;
      if (!this.#isWanted(frame.seq, kind, session, () => json)) {
        this.#skip(taken, frame.seq, kind, writer);
        break;
      }
      writer.add(kind, level, session, scope, json);
      taken.next = frame.seq + 1;
    }
    if (taken.next < this.#ring.tail()) this.#readAhead(taken.next);
    return taken;
  }

  #readAhead(from: number): void {
    const part = this.#read(from);
    if (!part) return;
    // The reader of the part sees the error.
    part.catch(() => undefined);
    this.#ahead = { from, part };
  }

  #read(from: number): Promise<ReplayPart> | undefined {
    return this.journal?.replay({
      from,
      filter: null,
      pieceBytes: PART_BYTES,
      maxBytes: PART_BYTES,
    });
  }
}

function isMoved(json: string): boolean {
  if (!json.includes(MOVED)) return false;
  return (JSON.parse(json) as { snapshot: BotSnapshot }).snapshot.status === 'moved';
}

/** Names by their hashes on the ring. */
class NameCache {
  readonly #names = new Map<number, { high: number; name: string }>();
  /** A bot's lines come in runs. */
  #low = 0;
  #high = 0;
  #name = '';

  /** @param read finds the name of a hash that is not known. */
  get(low: number, high: number, read: () => string | null): string | null {
    if (low === this.#low && high === this.#high) return this.#name;
    const known = this.#names.get(low);
    const name = known?.high === high ? known.name : read();
    if (name === null) return null;
    if (this.#names.size >= MAX_NAMES) this.#names.clear();
    this.#names.set(low, { high, name });
    this.#low = low;
    this.#high = high;
    this.#name = name;
    return name;
  }
}

function digits(seq: number): number {
  let count = 1;
  for (let limit = 10; seq >= limit; limit *= 10) count += 1;
  return count;
}
