// The layout of a block: a run of frames as they were on the ring, and the index fields of each, in one piece of memory that
// is one LMDB value.
//
//   0        64                                                                            dataAt
//   +--------+----------+-----------+------------+------------+----------+----------+------+--------------------+
//   | header | ends     | times     | sessions   | scopes     | session  | scope    | kind | frames, one behind |
//   |        | u32 x n  | u32 x n   | 2 u32 x s  | 2 u32 x c  | u16 x n  | u16 x n  | u8 xn| the other          |
//   +--------+----------+-----------+------------+------------+----------+----------+------+--------------------+
//
// header: u32 magic, n, bytes of frames, s, c, levels (bit set), kinds (bit set), time of writing (Unix epoch seconds by
// steady-clock.ts; 0 for unknown); f64 first sequence number, lowest time, highest
// time, clock (the highest time in the journal up to here), in Unix epoch milliseconds.
// `ends` counts from the first frame's first byte, `times` from the lowest time. The sessions and scopes of a block are a
// table of their hashes; the first entry, 0 and 0, is "none". `kind` holds the kind in its low 4 bits, the level above.

const MAGIC = 0x314a7244;
const HEADER_BYTES = 64;
/** Least memory of a block, so that it can be reused for another. */
const MEMORY_BYTES = 80 * 1024;
/** A frame's time may lie behind the journal's clock, by the order in which hosts post: at most this far, in ms. */
export const CLOCK_SLACK_MS = 60_000;
/** Names in a block's table, and frames in a block, at most: an index is 16 bits. */
export const MAX_BLOCK_FRAMES = 4096;

/** A name's number in the block that is being built. */
export interface NameEntry {
  readonly low: number;
  readonly high: number;
  /** Another name with the same low word. */
  next: NameEntry | undefined;
  /** Its number in the block `stamp`. */
  stamp: number;
  index: number;
}

/** A block that is being built. */
export class BlockBuilder {
  first = 0;
  count = 0;
  size = 0;
  #lowest = 0;
  #highest = 0;
  #levels = 0;
  #kinds = 0;
  /** Tells the tables of two blocks apart. */
  #stamp = 1;
  /** The frames; the next one goes to offset {@link size}. */
  readonly data: Buffer;
  readonly #ends = new Uint32Array(MAX_BLOCK_FRAMES);
  readonly #times = new Float64Array(MAX_BLOCK_FRAMES);
  readonly #sessionOf = new Uint16Array(MAX_BLOCK_FRAMES);
  readonly #scopeOf = new Uint16Array(MAX_BLOCK_FRAMES);
  readonly #kindOf = new Uint8Array(MAX_BLOCK_FRAMES);
  readonly #sessions = new Uint32Array(2 * (MAX_BLOCK_FRAMES + 1));
  readonly #scopes = new Uint32Array(2 * (MAX_BLOCK_FRAMES + 1));
  #sessionCount = 1;
  #scopeCount = 1;

  /** @param capacity bytes of frames that there is room for. */
  constructor(capacity: number) {
    this.data = Buffer.allocUnsafeSlow(capacity);
  }

  /** Whether a frame of so many bytes still fits. */
  fits(bytes: number): boolean {
    return this.count < MAX_BLOCK_FRAMES && this.size + bytes <= this.data.length;
  }

  /** Adds the next frame, whose bytes are at the end of {@link data} already. */
  add(
    seq: number,
    bytes: number,
    time: number,
    kind: number,
    level: number,
    session: NameEntry | undefined,
    scope: NameEntry | undefined,
  ): void {
    const at = this.count++;
    if (at === 0) {
      this.first = seq;
      this.#lowest = this.#highest = time;
    } else if (time < this.#lowest) this.#lowest = time;
    else if (time > this.#highest) this.#highest = time;
    this.size += bytes;
    this.#ends[at] = this.size;
    this.#times[at] = time;
    this.#kindOf[at] = kind | (level << 4);
    this.#kinds |= 1 << kind;
    this.#levels |= 1 << level;
    this.#sessionOf[at] = session ? this.#session(session) : 0;
    this.#scopeOf[at] = scope ? this.#scope(scope) : 0;
  }

  /**
   * The block so far, as a copy. @param clock the highest time in the journal before it.
   * @param writtenMs now, by the journal's steady clock. @param memory takes the copy when it is large enough.
   */
  encode(clock: number, writtenMs = 0, memory?: ArrayBuffer): Uint8Array {
    const { count, size } = this;
    const places = layout(count, this.#sessionCount, this.#scopeCount);
    const length = places.dataAt + size;
    const isEnough = memory !== undefined && memory.byteLength >= length;
    const bytes = isEnough
      ? new Uint8Array(memory, 0, length)
      : new Uint8Array(Math.max(length, MEMORY_BYTES)).subarray(0, length);
    bytes.fill(0, 0, HEADER_BYTES);
    const words = new Uint32Array(bytes.buffer, 0, places.sessionAt >> 2);
    words.set([
      MAGIC,
      count,
      size,
      this.#sessionCount,
      this.#scopeCount,
      this.#levels,
      this.#kinds,
      Math.floor(writtenMs / 1000),
    ]);
    const doubles = new Float64Array(bytes.buffer, 0, HEADER_BYTES / 8);
    doubles[4] = this.first;
    doubles[5] = this.#lowest;
    doubles[6] = this.#highest;
    doubles[7] = Math.max(clock, this.#highest);
    words.set(this.#ends.subarray(0, count), places.endsAt >> 2);
    for (let at = 0; at < count; at++) {
      words[(places.timesAt >> 2) + at] = Math.min(
        (this.#times[at] as number) - this.#lowest,
        0xffff_ffff,
      );
    }
    words.set(this.#sessions.subarray(0, 2 * this.#sessionCount), places.sessionsAt >> 2);
    words.set(this.#scopes.subarray(0, 2 * this.#scopeCount), places.scopesAt >> 2);
    const halves = new Uint16Array(bytes.buffer, places.sessionAt, 2 * count);
    halves.set(this.#sessionOf.subarray(0, count));
    halves.set(this.#scopeOf.subarray(0, count), count);
    bytes.set(this.#kindOf.subarray(0, count), places.kindAt);
    bytes.set(this.data.subarray(0, size), places.dataAt);
    return bytes;
  }

  /** Starts over with an empty block. */
  reset(): void {
    this.count = 0;
    this.size = 0;
    this.#levels = 0;
    this.#kinds = 0;
    this.#sessionCount = 1;
    this.#scopeCount = 1;
    this.#stamp += 1;
  }

  #session(name: NameEntry): number {
    if (name.stamp !== this.#stamp) {
      name.stamp = this.#stamp;
      name.index = this.#sessionCount++;
      this.#sessions[2 * name.index] = name.low;
      this.#sessions[2 * name.index + 1] = name.high;
    }
    return name.index;
  }

  #scope(name: NameEntry): number {
    if (name.stamp !== this.#stamp) {
      name.stamp = this.#stamp;
      name.index = this.#scopeCount++;
      this.#scopes[2 * name.index] = name.low;
      this.#scopes[2 * name.index + 1] = name.high;
    }
    return name.index;
  }
}

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
  protected readonly places: ReturnType<typeof layout>;
  protected readonly names: { sessions: number; scopes: number };

  /** @throws Error when it is none. */
  constructor(stored: Uint8Array) {
    // Copied: LMDB overwrites its buffer with the next read, and the buffer is not aligned.
    const { buffer } = new Uint8Array(stored.subarray(0, HEADER_BYTES));
    if (buffer.byteLength !== HEADER_BYTES) throw new Error('no block');
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
    this.places = layout(count, sessions, scopes);
    this.bytes = this.places.dataAt + size;
  }

  /** Its bytes in those of a whole block. */
  static of(block: Uint8Array): Uint8Array {
    return block.subarray(0, HEADER_BYTES);
  }

  /** Sequence number after the last frame. */
  get next(): number {
    return this.first + this.count;
  }

  /** False while the journal's clock is ahead, because the system's clock was ahead before. */
  get isTimely(): boolean {
    return this.writtenMs === 0 || this.clock <= this.writtenMs + CLOCK_SLACK_MS;
  }

  has(seq: number): boolean {
    return this.first <= seq && seq < this.next;
  }
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
    const { places, count } = this;
    const { sessions, scopes } = this.names;
    this.#ends = new Uint32Array(buffer, places.endsAt, count);
    this.#times = new Uint32Array(buffer, places.timesAt, count);
    this.#sessions = new Uint32Array(buffer, places.sessionsAt, 2 * sessions);
    this.#scopes = new Uint32Array(buffer, places.scopesAt, 2 * scopes);
    this.#sessionOf = new Uint16Array(buffer, places.sessionAt, count);
    this.#scopeOf = new Uint16Array(buffer, places.sessionAt + 2 * count, count);
    this.#kindOf = new Uint8Array(buffer, places.kindAt, count);
    this.data = Buffer.from(buffer, places.dataAt, bytes.length - places.dataAt);
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

  text(seq: number): string {
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
}

function layout(count: number, sessions: number, scopes: number) {
  const endsAt = HEADER_BYTES;
  const timesAt = endsAt + 4 * count;
  const sessionsAt = timesAt + 4 * count;
  const scopesAt = sessionsAt + 8 * sessions;
  const sessionAt = scopesAt + 8 * scopes;
  const kindAt = sessionAt + 4 * count;
  return { endsAt, timesAt, sessionsAt, scopesAt, sessionAt, kindAt, dataAt: kindAt + count };
}
