// Runs in the journal thread. Owns the frames that were read from the ring and are not written yet: full blocks, the block
// that is being filled, and the postings of the open segment. Reads the ring with its own cells, as a front does: it costs the
// broadcaster nothing.

import type { BotSnapshot, LogEvent } from '../shared/contract/events.js';
import { MAX_FRAME_BYTES } from '../shared/memory/layout.js';
import type { RingReader } from '../shared/memory/ring-reader.js';
import {
  eventId,
  frameData,
  gapJson,
  KIND_CODE,
  NO_LEVEL,
  sseFrame,
  timestampOffset,
} from '../shared/stream/frame.js';
import { type Block, Head } from './block.js';
import { BlockBuilder, type NameEntry } from './block-builder.js';
import { BlockPacker } from './block-packer.js';
import type { JournalLabels } from './label-table.js';
import type { JournalStates } from './state-table.js';
import type { Stats } from './stats.js';
import type { SteadyClock } from './steady-clock.js';
import { type NameKey, SEGMENT, type State, type Tables } from './tables.js';

/** Bytes of frames after which a block is full. */
const BLOCK_BYTES = 64 * 1024;
/** A block that is not full is rewritten with each flush, this often at most; then the next frame starts a new block. */
const MAX_REWRITES = 32;
/** Frames and bytes that are read under one protection of the ring: about 0.2 ms, so that the broadcaster does not wait. */
const STEP_FRAMES = 1024;
const STEP_BYTES = 256 * 1024;
/** Cost of a `session` frame in bytes, in addition to its own: its JSON is parsed. */
const SESSION_BYTES = 4096;
/** Most compressed bytes that wait for the disk. Above it, frames stay on the ring until the ring overwrites them. */
export const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** Buffers of blocks that are kept for reuse, 80 KB each: as many as one step over the ring fills. */
const MAX_SPARE = 8;
/** Names whose hashes are cached; the cache is cleared when it is full. */
const MAX_NAMES = 65_536;

interface SessionEntry extends NameEntry {
  /** Positions of the session's frames in the open segment. */
  places: number[];
}
/** A full block as it is stored. */
interface FullBlock {
  first: number;
  /** Its row in the table of heads, and in the table of blocks. */
  head: Uint8Array;
  packed: Uint8Array;
}
interface ScopeEntry extends NameEntry {
  name: string;
}

export interface RecorderParts {
  ring: RingReader;
  epoch: string;
  labels: JournalLabels;
  states: JournalStates;
  stats: Stats;
  steady: SteadyClock;
}

export class Recorder {
  /** Sequence number of the next frame to read from the ring. */
  next: number;
  readonly #parts: RecorderParts;
  /** Full blocks that are not compressed yet: the ring is protected while they are filled. */
  #sealed: { first: number; bytes: Uint8Array }[] = [];
  #full: FullBlock[] = [];
  #fullBytes = 0;
  readonly #packer = new BlockPacker();
  /** Buffers of compressed blocks, for reuse: to allocate one costs more than to fill it. */
  readonly #spare: ArrayBuffer[] = [];
  readonly #scratch = new ArrayBuffer(2 * BLOCK_BYTES);
  readonly #open = new BlockBuilder(BLOCK_BYTES + MAX_FRAME_BYTES);
  #rewrites = 0;
  /** Frames before this are in the open block's memory already: they are copied in runs. */
  #copied = 0;
  #clock: number;
  #segment: number;
  #inSegment: SessionEntry[] = [];
  #closed: { segment: number; sessions: SessionEntry[] }[] = [];
  readonly #sessions = new Map<number, SessionEntry>();
  readonly #scopes = new Map<number, ScopeEntry>();
  #lost = 0;
  #holes = 0;
  /** Offset of a log frame's timestamp, without the digits of its sequence number. */
  readonly #timeAt: number;
  readonly #activityTimeAt: number;
  #dirty = false;

  constructor(parts: RecorderParts, state: State) {
    this.#parts = parts;
    this.next = state.next;
    this.#clock = state.clock;
    this.#segment = state.posted;
    this.#timeAt = timestampOffset(parts.epoch, 'log');
    this.#activityTimeAt = timestampOffset(parts.epoch, 'activity');
  }

  /** Blocks from this frame on may still change in the tables; Infinity when none does. */
  get changing(): number {
    const full = (this.#full[0] ?? this.#sealed[0])?.first ?? Number.POSITIVE_INFINITY;
    return Math.min(full, this.#open.count > 0 ? this.#open.first : full);
  }

  /** Whether there is something to write. */
  get isDirty(): boolean {
    return this.#dirty;
  }

  /** Positions of these sessions' frames in the segments that have no postings in the tables yet, ascending. */
  unposted(wanted: readonly NameKey[]): { segment: number; places: number[][] }[] {
    const isWanted = ({ low, high }: SessionEntry): boolean =>
      wanted.some(([wantedLow, wantedHigh]) => low === wantedLow && high === wantedHigh);
    const open = { segment: this.#segment, sessions: this.#inSegment };
    return [...this.#closed, open].map(({ segment, sessions }) => ({
      segment,
      places: sessions.filter(isWanted).map(({ places }) => places),
    }));
  }

  /** Restores the postings of a segment that was still open when the journal was closed. */
  resume(block: Block): void {
    for (let seq = Math.max(block.first, this.#segment); seq < block.next; seq++) {
      this.#turnSegment(seq);
      const low = block.sessionLow(seq);
      if (low !== 0) this.#post(this.#session(low, block.sessionHigh(seq)), seq);
      else if (block.kind(seq) === KIND_CODE.gap) this.#post(this.#session(0, 0), seq);
    }
  }

  /**
   * Reads the ring up to `head`.
   * @returns false after a lap: frames are lost, and it waits for {@link skipTo}.
   */
  drain(head: number): boolean {
    const { ring } = this.#parts;
    while (this.next < head && this.#fullBytes < MAX_WAITING_BYTES) {
      if (!ring.protect(this.next)) return false;
      try {
        const end = Math.min(head, this.next + STEP_FRAMES);
        let bytes = 0;
        for (; this.next < end && bytes < STEP_BYTES; this.next++) {
          bytes += this.#take(this.next, end);
        }
      } finally {
        // Release the ring even after an error: otherwise the broadcaster, and with it the whole service, would wait
        // for this reader.
        ring.release();
      }
      this.#pack();
    }
    return true;
  }

  /**
   * Writes everything to the tables. In a transaction; call {@link written} after its commit.
   * @returns how many blocks have become full.
   */
  write(tables: Tables, state: State): number {
    this.#pack();
    for (const { first, head, packed } of this.#full) putBlock(tables, first, head, packed);
    if (this.#open.count > 0) {
      const bytes = this.#encode(this.#scratch);
      const packed = this.#packer.pack(bytes);
      putBlock(tables, this.#open.first, Head.row(bytes, packed), packed);
    }
    for (const { segment, sessions } of this.#closed) {
      const words = new Uint32Array(2 * sessions.length);
      for (const [at, { low, high, places }] of sessions.entries()) {
        words.set([low, high], 2 * at);
        const value = Buffer.from(Uint16Array.from(places).buffer);
        tables.postings.putSync([low, high, segment], value);
      }
      tables.segments.putSync(segment, Buffer.from(words.buffer));
    }
    this.#parts.stats.write(tables, state);
    this.#parts.labels.write(tables);
    this.#parts.states.write(tables);
    state.next = this.next;
    state.clock = this.#clock;
    state.posted = this.#segment;
    state.lost += this.#lost;
    state.holes += this.#holes;
    return this.#full.length;
  }

  /** The transaction is committed. */
  written(): void {
    this.#full = [];
    this.#fullBytes = 0;
    this.#closed = [];
    this.#lost = 0;
    this.#holes = 0;
    this.#dirty = false;
    this.#parts.stats.written();
    this.#parts.labels.written();
    this.#parts.states.written();
    this.#rewrites = this.#open.count > 0 ? this.#rewrites + 1 : 0;
    if (this.#rewrites >= MAX_REWRITES) {
      this.#renew();
    }
  }

  /** Reads frame `seq`; frames below `end` are protected. @returns its cost in bytes. */
  #take(seq: number, end: number): number {
    const { ring, labels, states, stats } = this.#parts;
    const bytes = ring.length(seq);
    this.#makeRoom(seq, bytes);
    const open = this.#open;
    if (seq >= this.#copied) {
      const run = ring.slice(seq, end, Math.max(BLOCK_BYTES - open.size, bytes));
      open.align(run.bytes);
      open.data.set(run.bytes, open.end);
      this.#copied = run.next;
    }
    const kind = ring.kind(seq);
    const level = ring.level(seq);
    const isLog = kind === KIND_CODE.log;
    // A page that looks for what was done just now may be faster than this thread: an activity has its own time too.
    const own = isLog ? this.#timeAt : kind === KIND_CODE.activity ? this.#activityTimeAt : null;
    const time = own === null ? Date.now() : timeAt(open.data, open.end + own + digits(seq));
    if (time > this.#clock) this.#clock = time;
    if (kind === KIND_CODE.session) {
      const { snapshot } = dataOf(ring.text(seq)) as { snapshot: BotSnapshot };
      labels.saw(seq, snapshot);
      states.saw(seq, snapshot);
    }
    const low = ring.sessionLow(seq);
    const session = low === 0 ? undefined : this.#session(low, ring.sessionHigh(seq));
    const scopeLow = ring.scopeLow(seq);
    const scope = scopeLow === 0 ? undefined : this.#scope(scopeLow, ring.scopeHigh(seq), seq);
    stats.count(time, isLog ? level : NO_LEVEL, scope?.name);
    this.#add(seq, bytes, time, kind, level, session, scope);
    return kind === KIND_CODE.session ? bytes + SESSION_BYTES : bytes;
  }

  /** Makes sure that frame `seq` fits into the open block and follows its last frame. */
  #makeRoom(seq: number, bytes: number): void {
    const open = this.#open;
    const follows = open.count === 0 || seq === open.first + open.count;
    if (!follows || open.size >= BLOCK_BYTES || !open.fits(bytes)) this.#seal();
  }

  /** Adds a frame whose bytes are in the open block's memory already. */
  #add(
    seq: number,
    bytes: number,
    time: number,
    kind: number,
    level: number,
    session: SessionEntry | undefined,
    scope: ScopeEntry | undefined,
  ): void {
    this.#turnSegment(seq);
    this.#open.add(seq, bytes, time, kind, level, session, scope);
    if (session) this.#post(session, seq);
    // A search for one bot finds gaps too: they are posted under their own key.
    else if (kind === KIND_CODE.gap) this.#post(this.#session(0, 0), seq);
    this.#dirty = true;
  }

  /** The open block is full. */
  #seal(): void {
    const open = this.#open;
    if (open.count === 0) return;
    const bytes = this.#encode(this.#spare.pop());
    this.#sealed.push({ first: open.first, bytes });
    this.#renew();
  }

  /** Compresses the blocks that are full. */
  #pack(): void {
    for (const { first, bytes } of this.#sealed) {
      const packed = this.#packer.pack(bytes).slice();
      this.#full.push({ first, head: Head.row(bytes, packed), packed });
      this.#fullBytes += packed.length;
      if (this.#spare.length < MAX_SPARE) this.#spare.push(bytes.buffer as ArrayBuffer);
    }
    this.#sealed = [];
  }

  #encode(memory?: ArrayBuffer): Uint8Array {
    return this.#open.encode(this.#clock, this.#parts.steady.now(), memory);
  }

  /** The next frame starts a block. */
  #renew(): void {
    this.#open.reset();
    this.#rewrites = 0;
    this.#copied = 0;
  }

  /**
   * Continues with frame `next`. The missing frames are declared by a gap in the journal, at the last one's number.
   * @param used whether all of their numbers were used; otherwise it is not known how many were.
   */
  skipTo(next: number, used: boolean): void {
    const { epoch } = this.#parts;
    const from = this.next;
    if (next <= from) return;
    if (used) {
      this.#lost += next - from;
      this.#holes += 1;
    }
    const to = eventId(epoch, next - 1);
    const dropped = used ? next - from : null;
    const time = Date.now();
    if (time > this.#clock) this.#clock = time;
    const frame = Buffer.from(sseFrame(to, 'gap', gapJson(eventId(epoch, from), to, dropped)));
    this.#parts.stats.count(time, NO_LEVEL, undefined);
    this.#makeRoom(next - 1, frame.length);
    this.#open.data.set(frame, this.#open.end);
    this.#add(next - 1, frame.length, time, KIND_CODE.gap, NO_LEVEL, undefined, undefined);
    this.next = next;
    this.#copied = 0;
  }

  #turnSegment(seq: number): void {
    if (seq < this.#segment + SEGMENT) return;
    const sessions = this.#inSegment;
    if (sessions.length > 0) {
      this.#closed.push({
        segment: this.#segment,
        sessions: sessions.map((entry) => ({ ...entry, places: entry.places })),
      });
    }
    for (const entry of sessions) entry.places = [];
    this.#inSegment = [];
    this.#segment = Math.floor(seq / SEGMENT) * SEGMENT;
  }

  #post(session: SessionEntry, seq: number): void {
    if (session.places.length === 0) this.#inSegment.push(session);
    session.places.push(seq - this.#segment);
  }

  #session(low: number, high: number): SessionEntry {
    const known = this.#sessions.get(low);
    for (let entry = known; entry; entry = entry.next as SessionEntry | undefined) {
      if (entry.high === high) return entry;
    }
    // Entries of the open segment stay: they hold its positions.
    if (this.#sessions.size >= MAX_NAMES) {
      this.#sessions.clear();
      for (const entry of this.#inSegment) {
        entry.next = this.#sessions.get(entry.low);
        this.#sessions.set(entry.low, entry);
      }
    }
    const entry: SessionEntry = {
      low,
      high,
      next: this.#sessions.get(low),
      stamp: 0,
      index: 0,
      places: [],
    };
    this.#sessions.set(low, entry);
    return entry;
  }

  #scope(low: number, high: number, seq: number): ScopeEntry {
    const known = this.#scopes.get(low);
    for (let entry = known; entry; entry = entry.next as ScopeEntry | undefined) {
      if (entry.high === high) return entry;
    }
    if (this.#scopes.size >= MAX_NAMES) this.#scopes.clear();
    const { scope: name } = dataOf(this.#parts.ring.text(seq)) as LogEvent;
    const entry: ScopeEntry = {
      low,
      high,
      next: this.#scopes.get(low),
      stamp: 0,
      index: 0,
      name,
    };
    this.#scopes.set(low, entry);
    return entry;
  }
}

/** `timestamp_ms` of a frame, read at its fixed place: JSON.parse would be most of the work. */
function timeAt(data: Uint8Array, offset: number): number {
  let time = 0;
  for (let at = offset; ; at++) {
    const digit = (data[at] as number) - 48;
    if (!(digit >= 0 && digit <= 9)) return time;
    time = time * 10 + digit;
  }
}

function putBlock(tables: Tables, first: number, head: Uint8Array, packed: Uint8Array): void {
  tables.packed.putSync(first, packed as Buffer);
  tables.heads.putSync(first, head as Buffer);
}

function digits(seq: number): number {
  let count = 1;
  for (let limit = 10; seq >= limit; limit *= 10) count += 1;
  return count;
}

/** The data of a frame. */
function dataOf(text: string): unknown {
  return JSON.parse(frameData(text));
}
