import { HEADER_BYTES, layout, MAGIC, MAX_BLOCK_FRAMES } from './block-layout.js';

/** V8 copies out of shared memory in words of this size, but byte by byte when source and target are not aligned alike. */
const WORD_BYTES = 8;
/** Least memory of a block, so that it can be reused for another. */
const MEMORY_BYTES = 80 * 1024;

/** A name's number in the block that is being built. */
export interface NameEntry {
  readonly low: number;
  readonly high: number;
  /** The next name with the same low word of the hash. */
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
  /** The frames; the next one goes to offset {@link end}. */
  readonly data: Buffer;
  readonly #capacity: number;
  /** Where the first frame begins in {@link data}. */
  #base = 0;
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
    this.#capacity = capacity;
    this.data = Buffer.allocUnsafeSlow(capacity + WORD_BYTES);
  }

  /** Where the next frame goes in {@link data}. */
  get end(): number {
    return this.#base + this.size;
  }

  /** Aligns the first frame as its source is: V8 then copies several times as fast. */
  align(source: Uint8Array): void {
    if (this.count === 0) this.#base = source.byteOffset % WORD_BYTES;
  }

  /** Whether a frame of so many bytes still fits. */
  fits(bytes: number): boolean {
    return this.count < MAX_BLOCK_FRAMES && this.size + bytes <= this.#capacity;
  }

  /** Adds the next frame. The caller has already copied its bytes to the end of {@link data}. */
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
   * Returns a copy of the block so far. @param clock the highest time in the journal before it.
   * @param writtenMs now, by the journal's steady clock. @param memory takes the copy when it is large enough.
   */
  encode(clock: number, writtenMs = 0, memory?: ArrayBuffer): Uint8Array {
    const { count, size } = this;
    const offsets = layout(count, this.#sessionCount, this.#scopeCount);
    const length = offsets.dataAt + size;
    const isEnough = memory !== undefined && memory.byteLength >= length;
    const bytes = isEnough
      ? new Uint8Array(memory, 0, length)
      : new Uint8Array(Math.max(length, MEMORY_BYTES)).subarray(0, length);
    bytes.fill(0, 0, HEADER_BYTES);
    const words = new Uint32Array(bytes.buffer, 0, offsets.sessionAt >> 2);
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
    words.set(this.#ends.subarray(0, count), offsets.endsAt >> 2);
    for (let at = 0; at < count; at++) {
      words[(offsets.timesAt >> 2) + at] = Math.min(
        (this.#times[at] as number) - this.#lowest,
        0xffff_ffff,
      );
    }
    words.set(this.#sessions.subarray(0, 2 * this.#sessionCount), offsets.sessionsAt >> 2);
    words.set(this.#scopes.subarray(0, 2 * this.#scopeCount), offsets.scopesAt >> 2);
    const halves = new Uint16Array(bytes.buffer, offsets.sessionAt, 2 * count);
    halves.set(this.#sessionOf.subarray(0, count));
    halves.set(this.#scopeOf.subarray(0, count), count);
    bytes.set(this.#kindOf.subarray(0, count), offsets.kindAt);
    bytes.set(this.data.subarray(this.#base, this.end), offsets.dataAt);
    return bytes;
  }

  /** Starts over with an empty block. */
  reset(): void {
    this.count = 0;
    this.size = 0;
    this.#base = 0;
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
