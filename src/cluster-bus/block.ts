// The format of a block: frames of one node on their way through JetStream. Their ids are left out, because each node writes those of
// the cluster; so is all that the kind of a frame tells.
//
//   +-------+----------+------------+------------------------------------------------------------------+
//   | magic | length   | head, JSON | body, compressed (Brotli):                                       |
//   | u32   | u32      |            | names (u32 length, JSON), 10 bytes for each frame, all data      |
//   +-------+----------+------------+------------------------------------------------------------------+
//
// Of a frame: kind u8, level u8, session u16 and scope u16 (index of the name, 0 for none), length of its data u32 in UTF-16 units. Data
// is JSON as on the stream.
//
// Brotli's quality 1 was best with lines of 200 bots in turn (198 bytes a frame, blocks of 40 to 256 KB): 0.12 of the bytes at 390 to
// 560 MB/s. zlib's level 1: 0.12 to 0.13 at 330 to 350 MB/s; LZ4 as in the journal: 0.17 to 0.19 at 640 to 700 MB/s.

import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { PROTOCOL, READABLE } from '../shared/cluster/names.js';

const MAGIC = 0x4452_4231;
const HEADER_BYTES = 8;
const FRAME_BYTES = 10;
/** Bytes of the data of a block before it is compressed, approximately. */
const MAX_UNITS = 192 * 1024;
export const MAX_FRAMES = 4096;
const MAX_BODY_BYTES = 8 * 1024 * 1024;
const CHUNK = 256 * 1024;
const QUALITY = 1;
/** A block is about 2 ** 18 bytes. */
const WINDOW_BITS = 18;

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
  /** What the publisher had counted. */
  at: Total;
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

/** Gathers the frames of a block. */
export class BlockWriter {
  #kinds: number[] = [];
  #levels: number[] = [];
  #sessions: number[] = [];
  #scopes: number[] = [];
  #data: string[] = [];
  #units = 0;
  readonly #names = new Map<string, number>();

  get count(): number {
    return this.#data.length;
  }

  get isFull(): boolean {
    return this.#data.length >= MAX_FRAMES || this.#units >= MAX_UNITS;
  }

  add(kind: number, level: number, session: string | null, scope: string | null, json: string) {
    this.#kinds.push(kind);
    this.#levels.push(level);
    this.#sessions.push(this.#index(session));
    this.#scopes.push(this.#index(scope));
    this.#data.push(json);
    this.#units += json.length;
  }

  /** The block; the writer is empty after that. */
  finish(head: Omit<BlockHead, 'v' | 'count'>): Uint8Array {
    const count = this.#data.length;
    const full: BlockHead = { v: PROTOCOL, ...head, count };
    const names = Buffer.from(JSON.stringify([...this.#names.keys()]));
    const data = Buffer.from(this.#data.join(''));
    const body = Buffer.allocUnsafe(4 + names.length + count * FRAME_BYTES + data.length);
    let at = body.writeUInt32LE(names.length, 0);
    at += names.copy(body, at);
    // Column by column: each compresses better beside its like.
    for (const kind of this.#kinds) body[at++] = kind;
    for (const level of this.#levels) body[at++] = level;
    for (const session of this.#sessions) at = body.writeUInt16LE(session, at);
    for (const scope of this.#scopes) at = body.writeUInt16LE(scope, at);
    for (const json of this.#data) at = body.writeUInt32LE(json.length, at);
    data.copy(body, at);
    this.reset();
    const packed = brotliCompressSync(body, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: QUALITY,
        [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    });
    const text = Buffer.from(JSON.stringify(full));
    const block = Buffer.allocUnsafe(HEADER_BYTES + text.length + packed.length);
    block.writeUInt32LE(MAGIC, 0);
    block.writeUInt32LE(text.length, 4);
    text.copy(block, HEADER_BYTES);
    packed.copy(block, HEADER_BYTES + text.length);
    return block;
  }

  /** Throws away what was added. */
  reset(): void {
    this.#kinds = [];
    this.#levels = [];
    this.#sessions = [];
    this.#scopes = [];
    this.#data = [];
    this.#units = 0;
    this.#names.clear();
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

/** Only the head: the body is not decompressed. @throws Error when the bytes are not a block, or one of a later version. */
export function decodeHead(bytes: Uint8Array): BlockHead {
  return parseHead(viewOf(bytes)).head;
}

/** @throws like {@link decodeHead}. */
export function decodeBlock(bytes: Uint8Array): Block {
  const block = viewOf(bytes);
  const { head, end } = parseHead(block);
  const body = brotliDecompressSync(block.subarray(end), {
    chunkSize: CHUNK,
    maxOutputLength: MAX_BODY_BYTES,
  });
  const namesEnd = 4 + body.readUInt32LE(0);
  const names = JSON.parse(body.toString('utf8', 4, namesEnd)) as string[];
  const nameAt = (offset: number): string | null => names[body.readUInt16LE(offset) - 1] ?? null;
  const { count } = head;
  const levels = namesEnd + count;
  const sessions = levels + count;
  const scopes = sessions + 2 * count;
  const lengths = scopes + 2 * count;
  const text = body.toString('utf8', lengths + 4 * count);
  const frames: BlockFrame[] = new Array(count);
  let from = 0;
  for (let at = 0; at < count; at++) {
    const to = from + body.readUInt32LE(lengths + 4 * at);
    frames[at] = {
      kind: body[namesEnd + at] as number,
      level: body[levels + at] as number,
      session: nameAt(sessions + 2 * at),
      scope: nameAt(scopes + 2 * at),
      json: text.slice(from, to),
    };
    from = to;
  }
  return { head, frames };
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function parseHead(block: Buffer): { head: BlockHead; end: number } {
  if (block.length < HEADER_BYTES || block.readUInt32LE(0) !== MAGIC) {
    throw new Error('a message of the stream is not a block');
  }
  const end = HEADER_BYTES + block.readUInt32LE(4);
  const head = JSON.parse(block.toString('utf8', HEADER_BYTES, end)) as BlockHead;
  if (head.v > READABLE) {
    throw new Error(
      `node ${head.node} publishes version ${head.v} of the protocol; this one knows version ${READABLE}: update it`,
    );
  }
  return { head, end };
}
