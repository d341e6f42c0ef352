// Gathers the frames of a block (block.ts), and compresses it.
//
// Frames come as bytes of the ring: a piece of it is copied behind the data that is gathered, and what a block holds of each frame is
// moved to the data's end. No frame becomes a string.

import { brotliCompressSync, constants } from 'node:zlib';
import { PROTOCOL } from '../wire/names.js';
import { type BlockHead, FRAME_BYTES, HEADER_BYTES, MAGIC, MAX_FRAMES } from './block.js';

/** Data of a block after which it is full. NATS takes messages up to 1 MiB by default, and the last frame may have 64 KiB. */
const MAX_DATA_BYTES = 512 * 1024;
/** Largest piece that {@link BlockWriter.piece} takes. */
export const MAX_PIECE_BYTES = 256 * 1024;
/** V8 copies out of shared memory byte by byte unless source and target are aligned alike. */
const ALIGNMENT = 8;
const CHUNK = 64 * 1024;
const QUALITY = 2;
/** A block has about 2 ** 19 bytes at most. */
const WINDOW_BITS = 19;

/** Signs a head, with the body that belongs to it. */
export type SignHead = (head: string, packed: Uint8Array) => string;

export class BlockWriter {
  #count = 0;
  /** Bytes of data. */
  #size = 0;
  readonly #data = Buffer.allocUnsafeSlow(MAX_DATA_BYTES + MAX_PIECE_BYTES + 2 * ALIGNMENT);
  readonly #kinds = new Uint8Array(MAX_FRAMES);
  readonly #levels = new Uint8Array(MAX_FRAMES);
  readonly #sessions = new Uint16Array(MAX_FRAMES);
  readonly #scopes = new Uint16Array(MAX_FRAMES);
  readonly #lengths = new Uint32Array(MAX_FRAMES);
  readonly #names = new Map<string, number>();
  /** A bot's lines come in runs. */
  #session: string | null = null;
  #sessionIndex = 0;
  #scope: string | null = null;
  #scopeIndex = 0;

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count >= MAX_FRAMES || this.#size >= MAX_DATA_BYTES;
  }

  /** Copies bytes of a ring, at most {@link MAX_PIECE_BYTES}. @returns where they begin, for {@link addBytes}, until the next piece. */
  piece(bytes: Uint8Array): number {
    const from = this.#size + ((bytes.byteOffset - this.#size) & (ALIGNMENT - 1));
    this.#data.set(bytes, from);
    return from;
  }

  /** Text of a frame's data in the last piece. */
  text(from: number, to: number): string {
    return this.#data.toString('utf8', from, to);
  }

  /** Adds a frame whose data is in the last piece. Frames are added in the order of the piece; the writer is not full. */
  addBytes(
    kind: number,
    level: number,
    session: string | null,
    scope: string | null,
    from: number,
    to: number,
  ): void {
    // What lies between is not needed any more: a frame is longer than its data.
    this.#data.copyWithin(this.#size, from, to);
    this.#add(kind, level, session, scope, to - from);
  }

  /** Not between {@link piece} and the frames of that piece. */
  add(
    kind: number,
    level: number,
    session: string | null,
    scope: string | null,
    json: string,
  ): void {
    const bytes = Buffer.byteLength(json);
    if (this.#size + bytes > this.#data.length)
      throw new RangeError('the block has no room for it');
    this.#data.write(json, this.#size, 'utf8');
    this.#add(kind, level, session, scope, bytes);
  }

  /** The block; the writer is empty after that. */
  finish(
    head: Omit<BlockHead, 'v' | 'count' | 'size'>,
    sign: SignHead = (text) => text,
  ): Uint8Array {
    const count = this.#count;
    const names = Buffer.from(JSON.stringify([...this.#names.keys()]));
    const body = Buffer.allocUnsafe(4 + names.length + count * FRAME_BYTES + this.#size);
    const full: BlockHead = { v: PROTOCOL, ...head, count, size: body.length };
    let at = body.writeUInt32LE(names.length, 0);
    at += names.copy(body, at);
    for (const column of [this.#kinds, this.#levels, this.#sessions, this.#scopes, this.#lengths]) {
      // Little-endian, as all machines that run this.
      const bytes = new Uint8Array(column.buffer, 0, count * column.BYTES_PER_ELEMENT);
      body.set(bytes, at);
      at += bytes.length;
    }
    this.#data.copy(body, at, 0, this.#size);
    this.reset();
    const packed = brotliCompressSync(body, {
      chunkSize: CHUNK,
      params: {
        [constants.BROTLI_PARAM_QUALITY]: QUALITY,
        [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    });
    const text = Buffer.from(sign(JSON.stringify(full), packed));
    const block = Buffer.allocUnsafe(HEADER_BYTES + text.length + packed.length);
    block.writeUInt32LE(MAGIC, 0);
    block.writeUInt32LE(text.length, 4);
    text.copy(block, HEADER_BYTES);
    packed.copy(block, HEADER_BYTES + text.length);
    return block;
  }

  /** Throws away what was added. */
  reset(): void {
    this.#count = 0;
    this.#size = 0;
    this.#names.clear();
    this.#session = null;
    this.#sessionIndex = 0;
    this.#scope = null;
    this.#scopeIndex = 0;
  }

  #add(
    kind: number,
    level: number,
    session: string | null,
    scope: string | null,
    bytes: number,
  ): void {
    if (session !== this.#session) {
      this.#session = session;
      this.#sessionIndex = this.#index(session);
    }
    if (scope !== this.#scope) {
      this.#scope = scope;
      this.#scopeIndex = this.#index(scope);
    }
    const at = this.#count++;
    this.#kinds[at] = kind;
    this.#levels[at] = level;
    this.#sessions[at] = this.#sessionIndex;
    this.#scopes[at] = this.#scopeIndex;
    this.#lengths[at] = bytes;
    this.#size += bytes;
  }

  #index(name: string | null): number {
    if (name === null) return 0;
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const index = this.#names.size + 1;
    this.#names.set(name, index);
    return index;
  }
}
