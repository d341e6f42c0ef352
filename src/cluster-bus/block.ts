// The format of a block: frames of one node on their way through JetStream. Their ids are left out, because each node writes those of
// the cluster; so is all that the kind of a frame tells.
//
//   +-------+----------+------------+------------------------------------------------------------------+
//   | magic | length   | head, JSON | body, compressed (Brotli):                                       |
//   | u32   | u32      |            | names (u32 length, JSON), 10 bytes for each frame, all data      |
//   +-------+----------+------------+------------------------------------------------------------------+
//
// Of a frame, column by column, because each compresses better beside its like: kind u8, level u8, session u16 and scope u16 (index of
// the name, 0 for none), length of its data in bytes u32. Data is JSON as on the stream.

import { brotliDecompressSync } from 'node:zlib';
import { READABLE } from '../shared/cluster/names.js';
import { DroverError } from '../shared/errors.js';

export const MAGIC = 0x4452_4231;
export const HEADER_BYTES = 8;
export const FRAME_BYTES = 10;
export const MAX_FRAMES = 4096;
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** Of zlib. */
const MIN_CHUNK = 64;

/** How many frames there are on the stream up to and including the message with this sequence. */
export interface Total {
  seq: number;
  total: number;
}

export interface BlockHead {
  v: number;
  /** The node whose frames these are. */
  node: string;
  /** The start of the service that has published it. */
  incarnation: string;
  /** `fence`: another node has published it: the lease of this one has run out. */
  type: 'frames' | 'fence';
  /** Numbering of the node's own stream, the number of the first frame in it, and that after the last: others may be left out. */
  epoch: string;
  first: number;
  next: number;
  count: number;
  /** Bytes of the body before compression. */
  size: number;
  /** What the publisher had counted. */
  at: Total;
  /** The run has published all that it had: a block without frames, and the last one of a service that is stopped in order. */
  end?: boolean;
}

/** One frame, without its id. */
export interface BlockFrame {
  /** KIND_CODE. */
  kind: number;
  /** LEVEL_CODE, or NO_LEVEL. */
  level: number;
  session: string | null;
  scope: string | null;
  /** Its data. */
  json: string;
}

export interface Block {
  head: BlockHead;
  frames: BlockFrame[];
}

/** A block whose frames are still bytes: a ring needs no text of them. */
export class ReadBlock implements Block {
  readonly head: BlockHead;
  readonly body: Buffer;
  /** Where the data of the first frame begins in the body. */
  readonly data: number;
  /** By their indices, from 1 on. */
  readonly names: readonly string[];
  readonly #kinds: number;
  readonly #levels: number;
  readonly #sessions: number;
  readonly #scopes: number;
  readonly #lengths: number;
  #frames: BlockFrame[] | undefined;

  constructor(head: BlockHead, body: Buffer) {
    const { count } = head;
    this.head = head;
    this.body = body;
    this.#kinds = 4 + body.readUInt32LE(0);
    this.names = JSON.parse(body.toString('utf8', 4, this.#kinds)) as string[];
    this.#levels = this.#kinds + count;
    this.#sessions = this.#levels + count;
    this.#scopes = this.#sessions + 2 * count;
    this.#lengths = this.#scopes + 2 * count;
    this.data = this.#lengths + 4 * count;
  }

  /** @param at index of the frame in the block; of the other methods too. */
  kind(at: number): number {
    return this.body[this.#kinds + at] as number;
  }

  level(at: number): number {
    return this.body[this.#levels + at] as number;
  }

  /** Index of the name, 0 for none. */
  session(at: number): number {
    return this.body.readUInt16LE(this.#sessions + 2 * at);
  }

  /** Index of the name, 0 for none. */
  scope(at: number): number {
    return this.body.readUInt16LE(this.#scopes + 2 * at);
  }

  /** Bytes of its data. */
  length(at: number): number {
    return this.body.readUInt32LE(this.#lengths + 4 * at);
  }

  get frames(): BlockFrame[] {
    this.#frames ??= this.#read();
    return this.#frames;
  }

  #read(): BlockFrame[] {
    const { body, names, data } = this;
    const { count } = this.head;
    const text = body.toString('utf8', data);
    // As many units as bytes: it is all ASCII, and offsets are the same.
    const isAscii = text.length === body.length - data;
    const frames: BlockFrame[] = new Array(count);
    let from = data;
    for (let at = 0; at < count; at++) {
      const to = from + this.length(at);
      frames[at] = {
        kind: this.kind(at),
        level: this.level(at),
        session: names[this.session(at) - 1] ?? null,
        scope: names[this.scope(at) - 1] ?? null,
        json: isAscii ? text.slice(from - data, to - data) : body.toString('utf8', from, to),
      };
      from = to;
    }
    return frames;
  }
}

/** Only the head: the body is not decompressed. @throws DroverError `unavailable` when the bytes are not a block, or one of a later version. */
export function decodeHead(bytes: Uint8Array): BlockHead {
  return parseHead(viewOf(bytes)).head;
}

/** @throws like {@link decodeHead}. */
export function decodeBlock(bytes: Uint8Array): ReadBlock {
  const block = viewOf(bytes);
  const { head, end } = parseHead(block);
  const body = brotliDecompressSync(block.subarray(end), {
    chunkSize: Math.max(MIN_CHUNK, Math.min(head.size, MAX_BODY_BYTES)),
    maxOutputLength: MAX_BODY_BYTES,
  });
  return new ReadBlock(head, body);
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function parseHead(block: Buffer): { head: BlockHead; end: number } {
  if (block.length < HEADER_BYTES || block.readUInt32LE(0) !== MAGIC) {
    throw new DroverError('unavailable', 'a message of the stream is not a block');
  }
  const end = HEADER_BYTES + block.readUInt32LE(4);
  const head = JSON.parse(block.toString('utf8', HEADER_BYTES, end)) as BlockHead;
  if (head.v > READABLE) {
    throw new DroverError(
      'unavailable',
      `node ${head.node} publishes version ${head.v} of the protocol; this one knows version ${READABLE}: update it`,
    );
  }
  return { head, end };
}
