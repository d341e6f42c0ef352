// Runs in the journal thread. Owns the memory in which a block is compressed.

/** Positions are looked up by a hash of 4 bytes with so many bits: 32 KB, which stay in the CPU's first caches. */
const HASH_BITS = 13;
const HASH_SHIFT = 32 - HASH_BITS;
/** Knuth's multiplicative hash. */
const HASH_FACTOR = -1640531535;
/** LZ4: the farthest that a match may be back, in bytes. */
const MAX_OFFSET = 65_535;
const MIN_MATCH = 4;
/** LZ4: the last 5 bytes are literals, and no match begins in the last 12. */
const LAST_LITERALS = 5;
const MATCH_LIMIT = 12;
/** LZ4: a length beyond 4 bits continues in further bytes, up to the first that is not 255. */
const LONG_LENGTH = 15;
/**
 * The search takes a larger step after so many misses: 2 ** 6 of them, divided by the acceleration. docs/BENCHMARKS.md has
 * what was measured: 4 costs 7 % of the size and saves 40 % of the time with lines that differ.
 */
const SKIP_BITS = 6;
const ACCELERATION = 4;
/** Literals from this length on are copied by the runtime: below it a loop is faster. */
const LONG_LITERALS = 32;
/** lmdb's header of a compressed value: this byte, then the length of the content as 24 bits, big-endian. */
const COMPRESSED = 254;
const PREFIX_BYTES = 4;
/** Content from this length on cannot be stored that way. */
const MAX_CONTENT = 1 << 24;

/**
 * Compresses blocks as lmdb does (LZ4 behind a header of 4 bytes), so that lmdb decompresses them when they are read, as it
 * does those that it has compressed itself. Its own compressor is compiled without inlining: it takes 1.7 to 2.5 times as long.
 */
export class BlockPacker {
  /** Where a hash was seen last. */
  readonly #table = new Int32Array(1 << HASH_BITS);
  #packed = new Uint8Array(0);
  /** Where the next byte goes. */
  #end = 0;

  /**
   * @returns the value to store: `bytes` compressed, or as they are where that is not shorter. Valid until the next call.
   * @throws RangeError when they are 16 MiB or more.
   */
  pack(bytes: Uint8Array): Uint8Array {
    const { length } = bytes;
    if (length >= MAX_CONTENT) throw new RangeError(`a block of ${length} bytes is too large`);
    const most = PREFIX_BYTES + length + Math.ceil(length / 255) + 16;
    if (this.#packed.length < most) this.#packed = new Uint8Array(most);
    this.#packed.set([COMPRESSED, length >>> 16, length >>> 8, length]);
    this.#end = PREFIX_BYTES;
    this.#compress(bytes);
    // lmdb takes a value for compressed by its first byte. A block begins with its magic number, which is another.
    return this.#end < length ? this.#packed.subarray(0, this.#end) : bytes;
  }

  #compress(bytes: Uint8Array): void {
    const { length } = bytes;
    const words = new DataView(bytes.buffer, bytes.byteOffset, length);
    const table = this.#table;
    // An offset that is too far back for a match, so that the first look-ups find none.
    table.fill(-MAX_OFFSET - 1);
    const lastStart = length - MATCH_LIMIT;
    /** The first byte that is not written yet. */
    let anchor = 0;
    let at = 0;
    let misses = ACCELERATION << SKIP_BITS;
    let step = 1;
    while (at <= lastStart) {
      const word = words.getInt32(at, true);
      const hash = Math.imul(word, HASH_FACTOR) >>> HASH_SHIFT;
      let from = table[hash] as number;
      table[hash] = at;
      if (at - from > MAX_OFFSET || words.getInt32(from, true) !== word) {
        at += step;
        step = misses++ >>> SKIP_BITS;
        continue;
      }
      // The skipped bytes may match too, so extend the match backwards.
      while (at > anchor && from > 0 && bytes[at - 1] === bytes[from - 1]) {
        at -= 1;
        from -= 1;
      }
      const end = matchEnd(words, bytes, at + MIN_MATCH, from + MIN_MATCH);
      this.#sequence(bytes, anchor, at, at - from, end);
      anchor = end;
      at = end;
      misses = ACCELERATION << SKIP_BITS;
      step = 1;
      if (at > lastStart) break;
      table[Math.imul(words.getInt32(at - 2, true), HASH_FACTOR) >>> HASH_SHIFT] = at - 2;
    }
    this.#literals(bytes, anchor, length);
  }

  /** Literals from `anchor` on, then a match from `at` to `end` with what is `offset` bytes before. */
  #sequence(bytes: Uint8Array, anchor: number, at: number, offset: number, end: number): void {
    const token = this.#literals(bytes, anchor, at);
    const packed = this.#packed;
    packed[this.#end++] = offset;
    packed[this.#end++] = offset >>> 8;
    const more = end - at - MIN_MATCH;
    packed[token] = (packed[token] as number) | Math.min(more, LONG_LENGTH);
    if (more >= LONG_LENGTH) this.#length(more - LONG_LENGTH);
  }

  /** A token with its literals. @returns where the token is; its low 4 bits are for the match. */
  #literals(bytes: Uint8Array, start: number, end: number): number {
    const packed = this.#packed;
    const token = this.#end++;
    const count = end - start;
    packed[token] = Math.min(count, LONG_LENGTH) << 4;
    if (count >= LONG_LENGTH) this.#length(count - LONG_LENGTH);
    if (count >= LONG_LITERALS) packed.set(bytes.subarray(start, end), this.#end);
    else for (let at = 0; at < count; at++) packed[this.#end + at] = bytes[start + at] as number;
    this.#end += count;
    return token;
  }

  #length(rest: number): void {
    let left = rest;
    for (; left >= 255; left -= 255) this.#packed[this.#end++] = 255;
    this.#packed[this.#end++] = left;
  }
}

/** Where the bytes from `at` on differ from those from `from` on; 5 bytes before the end at the latest. */
function matchEnd(words: DataView, bytes: Uint8Array, at: number, from: number): number {
  const limit = bytes.length - LAST_LITERALS;
  let end = at;
  let other = from;
  for (; end <= limit - 4; end += 4, other += 4) {
    const difference = words.getInt32(end, true) ^ words.getInt32(other, true);
    // The lowest bit that differs is in the first byte that does.
    if (difference !== 0) return end + ((31 - Math.clz32(difference & -difference)) >>> 3);
  }
  while (end < limit && bytes[end] === bytes[other]) {
    end += 1;
    other += 1;
  }
  return end;
}
