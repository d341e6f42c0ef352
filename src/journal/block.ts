import { isAscii } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { KINDS } from '../shared/contract/event-kinds.js';
import { frameId, gapJson, KIND_CODE } from '../shared/stream/frame.js';
import { HEAD_ROW_BYTES, HEADER_BYTES, layout, MAGIC } from './block-layout.js';

/** A frame's time may lie behind the journal's clock, by the order in which hosts post: at most this far, in ms. */
export const CLOCK_SLACK_MS = 60_000;

/** The header of a block. It has its own table, so that a search can skip the block without reading it. */
export class Head {
  readonly first: number;
  readonly count: number;
  readonly lowest: number;
  readonly highest: number;
  readonly clock: number;
  /** Approximate time of writing in Unix epoch ms; 0 when unknown. */
  readonly writtenMs: number;
  /** Bit sets of the levels and kinds in it. */
  readonly levels: number;
  readonly kinds: number;
  /** Bytes of the whole block. */
  readonly bytes: number;
  /** CRC-32 of the block's row; undefined when it is not known, as of rows that an earlier version wrote. */
  readonly crc: number | undefined;
  protected readonly offsets: ReturnType<typeof layout>;
  protected readonly names: { sessions: number; scopes: number };
  readonly #header: Buffer;

  /** @param stored a row of the table of heads, or a block. @throws Error when it is none. */
  constructor(stored: Uint8Array) {
    // A copy, because LMDB overwrites its buffer with the next read, and the buffer is not aligned.
    const { buffer } = new Uint8Array(stored.subarray(0, HEADER_BYTES));
    if (buffer.byteLength !== HEADER_BYTES) throw new Error('no block');
    this.#header = Buffer.from(buffer);
    const words = new Uint32Array(buffer);
    const [
      magic,
      count = 0,
      size = 0,
      sessions = 0,
      scopes = 0,
      levels = 0,
      kinds = 0,
      written = 0,
    ] = words;
    if (magic !== MAGIC) throw new Error('no block');
    const doubles = new Float64Array(buffer);
    this.first = doubles[4] as number;
    this.lowest = doubles[5] as number;
    this.highest = doubles[6] as number;
    this.clock = doubles[7] as number;
    this.writtenMs = written * 1000;
    this.count = count;
    this.levels = levels;
    this.kinds = kinds;
    this.names = { sessions, scopes };
    this.offsets = layout(count, sessions, scopes);
    this.bytes = this.offsets.dataAt + size;
    this.crc = stored.length === HEAD_ROW_BYTES ? crcOf(stored) : undefined;
  }

  /** The row of a block's head. @param packed the block's own row. */
  static row(block: Uint8Array, packed: Uint8Array): Uint8Array {
    const row = new Uint8Array(HEAD_ROW_BYTES);
    row.set(block.subarray(0, HEADER_BYTES));
    new DataView(row.buffer).setUint32(HEADER_BYTES, crc32(packed), true);
    return row;
  }

  /** Whether the other has the same header: they may have come from different tables. */
  equals(other: Head): boolean {
    return this.#header.equals(other.#header);
  }

  /** @param packed the block's row. @throws Error when it is not what was written. */
  check(packed: Uint8Array): void {
    // The length of a buffer of LMDB is set to the value's; what is behind it is of another value.
    if (this.crc !== undefined && crc32(packed.subarray(0, packed.length)) !== this.crc) {
      throw new Error('a block is damaged');
    }
  }

  /** Sequence number after the last frame. */
  get next(): number {
    return this.first + this.count;
  }

  /** False while the journal's clock is ahead, because the system's clock was ahead before. */
  get isTimely(): boolean {
    return this.writtenMs === 0 || this.clock <= this.writtenMs + CLOCK_SLACK_MS;
  }

  hasKind(code: number): boolean {
    return (this.kinds & (1 << code)) !== 0;
  }

  has(seq: number): boolean {
    return this.first <= seq && seq < this.next;
  }
}

function crcOf(row: Uint8Array): number {
  return new DataView(row.buffer, row.byteOffset).getUint32(HEADER_BYTES, true);
}

/** A whole block. Frames are addressed by their sequence numbers. */
export class Block extends Head {
  /** All frames, one behind the other. */
  readonly data: Buffer;
  readonly #ends: Uint32Array;
  readonly #times: Uint32Array;
  readonly #sessions: Uint32Array;
  readonly #scopes: Uint32Array;
  readonly #sessionOf: Uint16Array;
  readonly #scopeOf: Uint16Array;
  readonly #kindOf: Uint8Array;
  #isAscii: boolean | undefined;
  #latin1: string | undefined;

  /**
   * @param stored its bytes, which are copied, as those of a {@link Head} are.
   * @param memory takes the copy when it is large enough.
   * @throws Error when it is no block.
   */
  constructor(stored: Uint8Array, memory?: ArrayBuffer) {
    super(stored);
    // LMDB's buffer is larger than the value; its `length` was set to the value's.
    const { length } = stored;
    const isEnough = memory !== undefined && memory.byteLength >= length;
    const bytes = isEnough ? new Uint8Array(memory, 0, length) : new Uint8Array(length);
    bytes.set(stored.subarray(0, length));
    if (this.bytes !== bytes.length) throw new Error('no block');
    const { buffer } = bytes;
    const { offsets, count } = this;
    const { sessions, scopes } = this.names;
    this.#ends = new Uint32Array(buffer, offsets.endsAt, count);
    this.#times = new Uint32Array(buffer, offsets.timesAt, count);
    this.#sessions = new Uint32Array(buffer, offsets.sessionsAt, 2 * sessions);
    this.#scopes = new Uint32Array(buffer, offsets.scopesAt, 2 * scopes);
    this.#sessionOf = new Uint16Array(buffer, offsets.sessionAt, count);
    this.#scopeOf = new Uint16Array(buffer, offsets.sessionAt + 2 * count, count);
    this.#kindOf = new Uint8Array(buffer, offsets.kindAt, count);
    this.data = Buffer.from(buffer, offsets.dataAt, bytes.length - offsets.dataAt);
  }

  /** Where a frame begins and ends in {@link data}. */
  start(seq: number): number {
    return seq === this.first ? 0 : (this.#ends[seq - this.first - 1] as number);
  }

  end(seq: number): number {
    return this.#ends[seq - this.first] as number;
  }

  length(seq: number): number {
    return this.end(seq) - this.start(seq);
  }

  time(seq: number): number {
    return this.lowest + (this.#times[seq - this.first] as number);
  }

  /** Some of its lines may be {@link isBroken}. */
  get hasBroken(): boolean {
    return this.lowest === 0;
  }

  /**
   * The line has no time (`"timestamp_ms":NaN`), and clients cannot parse it. Journals of earlier builds have such lines; the
   * broadcaster refuses them now. They are served as a {@link gap} of one.
   */
  isBroken(seq: number): boolean {
    return this.time(seq) === 0 && this.kind(seq) === KIND_CODE.log;
  }

  /** The replacement for a broken frame: its id, and the data of the gap. */
  gap(seq: number): { id: string; json: string } {
    const id = frameId(this.ownText(seq));
    return { id, json: gapJson(id, id, 1) };
  }

  get isAscii(): boolean {
    this.#isAscii ??= isAscii(this.data);
    return this.#isAscii;
  }

  /** {@link data} with a character for each byte: places in it are the same. ASCII bytes become their text. */
  get latin1(): string {
    this.#latin1 ??= this.data.toString('latin1');
    return this.#latin1;
  }

  /** The frame that has the byte at this place in {@link data}. */
  frameAt(place: number): number {
    let from = 0;
    let to = this.count - 1;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#ends[middle] as number) > place) to = middle;
      else from = middle + 1;
    }
    return this.first + from;
  }

  /** For each scope, and for none, a frame of each kind that has it. */
  get scopeFrames(): number[] {
    return this.#samples(this.#scopeOf, this.names.scopes);
  }

  /** For each session, and for none, a frame of each kind that has it. */
  get sessionFrames(): number[] {
    return this.#samples(this.#sessionOf, this.names.sessions);
  }

  #samples(nameOf: Uint16Array, names: number): number[] {
    const seen = new Uint8Array(names * KINDS.length);
    const frames: number[] = [];
    for (let at = 0; at < this.count; at++) {
      const kind = (this.#kindOf[at] as number) & 15;
      const place = (nameOf[at] as number) * KINDS.length + kind;
      if (seen[place]) continue;
      seen[place] = 1;
      frames.push(this.first + at);
    }
    return frames;
  }

  /** The text of a frame, for a moment: keeping it may keep the text of the whole block in memory. */
  text(seq: number): string {
    return this.isAscii ? this.latin1.slice(this.start(seq), this.end(seq)) : this.ownText(seq);
  }

  /** The text of a frame in its own memory, which may be kept. */
  ownText(seq: number): string {
    return this.data.toString('utf8', this.start(seq), this.end(seq));
  }

  kind(seq: number): number {
    return (this.#kindOf[seq - this.first] as number) & 15;
  }

  level(seq: number): number {
    return (this.#kindOf[seq - this.first] as number) >> 4;
  }

  sessionLow(seq: number): number {
    return this.#sessions[2 * (this.#sessionOf[seq - this.first] as number)] as number;
  }

  sessionHigh(seq: number): number {
    return this.#sessions[2 * (this.#sessionOf[seq - this.first] as number) + 1] as number;
  }

  scopeLow(seq: number): number {
    return this.#scopes[2 * (this.#scopeOf[seq - this.first] as number)] as number;
  }

  scopeHigh(seq: number): number {
    return this.#scopes[2 * (this.#scopeOf[seq - this.first] as number) + 1] as number;
  }

  /** The journal has the node's own frames. */
  node(): number {
    return 0;
  }
}
