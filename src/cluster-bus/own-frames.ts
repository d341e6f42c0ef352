// Runs in the bus thread. Reads the frames of the node's own stream, for blocks: from the ring, and from the journal what has left it.

import type { BotSnapshot } from '../shared/contract/events.js';
import type { ReplayPart, ReplayRequest } from '../shared/contract/journal-messages.js';
import type { RingReader } from '../shared/memory/ring-reader.js';
import { eventId, gapJson, KIND_CODE, NO_LEVEL } from '../shared/stream/frame.js';
import type { BlockWriter } from './block.js';
import { namesIn, readFrames } from './replayed-frames.js';

/** Frames and bytes that are read under one protection of the ring, so that the broadcaster does not wait. */
const STEP_FRAMES = 512;
const STEP_BYTES = 128 * 1024;
const PART_BYTES = 256 * 1024;
/** Names whose hashes are cached; the cache is cleared when it is full. */
const MAX_NAMES = 65_536;
const KIND_LENGTH: Readonly<Record<number, number>> = {
  [KIND_CODE.log]: 3,
  [KIND_CODE.session]: 7,
  [KIND_CODE.gap]: 3,
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
  /** Frames before this number are left out, unless their bot is in `keep`, or they have none. */
  before: number;
  keep: ReadonlySet<string>;
}

/** What was read: the frames from `first` on, and where to continue. */
export interface Taken {
  first: number;
  next: number;
}

interface Names {
  high: number;
  name: string;
}

export class OwnFrames {
  readonly #ring: RingReader;
  readonly #epoch: string;
  readonly #sessions = new Map<number, Names>();
  readonly #scopes = new Map<number, Names>();
  /** Null while there is none. */
  journal: OwnJournal | null = null;
  #selection: Selection = { before: 0, keep: new Set() };
  /** The frames that the selection leaves out are declared. */
  #isDeclared = false;

  constructor(ring: RingReader, epoch: string) {
    this.#ring = ring;
    this.#epoch = epoch;
  }

  select(selection: Selection): void {
    this.#selection = selection;
    this.#isDeclared = false;
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
    const text = (bytes as Buffer).toString('utf8');
    // As many units as bytes: it is all ASCII, and offsets are the same.
    const isAscii = text.length === bytes.length;
    const start = ring.position(taken.next);
    for (let seq = taken.next; seq < next; seq++) {
      if (writer.isFull) return false;
      const kind = ring.kind(seq);
      const from = ring.position(seq) - start;
      const length = ring.length(seq);
      const frame = isAscii ? text.slice(from, from + length) : ring.text(seq);
      const json = frame.slice(this.#dataAt(seq, kind), -FRAME_END);
      if (!this.#add(seq, kind, ring.level(seq), this.#namesOf(seq, json), json, writer)) {
        this.#skip(taken, seq, writer);
        return true;
      }
      taken.next = seq + 1;
    }
    return false;
  }

  /** Frame `seq` is not for others. */
  #skip(taken: Taken, seq: number, writer: BlockWriter): void {
    if (seq < this.#selection.before && !this.#isDeclared) {
      this.#isDeclared = true;
      if (writer.count === 0) taken.first = seq;
      this.#gap(seq, seq, writer);
    } else if (writer.count === 0) taken.first = seq + 1;
    taken.next = seq + 1;
  }

  /** Frames up to `last` are lost to the stream of the cluster. */
  #gap(first: number, last: number, writer: BlockWriter): void {
    const json = gapJson(eventId(this.#epoch, first), eventId(this.#epoch, last), null);
    writer.add(KIND_CODE.gap, NO_LEVEL, null, null, json);
  }

  #add(
    seq: number,
    kind: number,
    level: number,
    names: { session: string | null; scope: string | null },
    json: string,
    writer: BlockWriter,
  ): boolean {
    const { session, scope } = names;
    const { before, keep } = this.#selection;
    if (seq < before && session !== null && !keep.has(session)) return false;
    if (kind === KIND_CODE.session && json.includes(MOVED) && isMoved(json)) return false;
    writer.add(kind, level, session, scope, json);
    return true;
  }

  #dataAt(seq: number, kind: number): number {
    return AROUND + this.#epoch.length + digits(seq) + (KIND_LENGTH[kind] ?? 0);
  }

  #namesOf(seq: number, json: string): { session: string | null; scope: string | null } {
    const ring = this.#ring;
    const sessionLow = ring.sessionLow(seq);
    const scopeLow = ring.scopeLow(seq);
    const session =
      sessionLow === 0
        ? null
        : cached(this.#sessions, sessionLow, ring.sessionHigh(seq), () => namesIn(json).session);
    const scope =
      scopeLow === 0
        ? null
        : cached(this.#scopes, scopeLow, ring.scopeHigh(seq), () => namesIn(json).scope);
    return { session, scope };
  }

  /** Declares the frames from `from` on as lost, up to `next` or the oldest on the ring. */
  lose(from: number, writer: BlockWriter, next = this.#ring.tail()): Taken {
    const end = Math.max(from + 1, Math.min(next, this.#ring.head()));
    this.#gap(from, end - 1, writer);
    return { first: end - 1, next: end };
  }

  /** After an outage that was longer than the ring. */
  async #fromJournal(from: number, writer: BlockWriter): Promise<Taken> {
    const part = await this.journal?.replay({
      from,
      filter: null,
      pieceBytes: PART_BYTES,
      maxBytes: PART_BYTES,
    });
    const first = part?.first ?? null;
    if (!part || first === null || first > from || part.next <= from) {
      return this.lose(from, writer, first ?? undefined);
    }
    const taken: Taken = { first: from, next: from };
    for (const frame of readFrames(part.bytes)) {
      if (frame.seq < from) continue;
      if (frame.seq !== taken.next || writer.isFull) break;
      if (!this.#add(frame.seq, frame.kind, frame.level, frame, frame.json, writer)) {
        this.#skip(taken, frame.seq, writer);
        break;
      }
      taken.next = frame.seq + 1;
    }
    return taken;
  }
}

function isMoved(json: string): boolean {
  return (JSON.parse(json) as { snapshot: BotSnapshot }).snapshot.status === 'moved';
}

function cached(
  names: Map<number, Names>,
  low: number,
  high: number,
  read: () => string | null,
): string | null {
  const known = names.get(low);
  if (known?.high === high) return known.name;
  const name = read();
  if (name === null) return null;
  if (names.size >= MAX_NAMES) names.clear();
  names.set(low, { high, name });
  return name;
}

function digits(seq: number): number {
  let count = 1;
  for (let limit = 10; seq >= limit; limit *= 10) count += 1;
  return count;
}
