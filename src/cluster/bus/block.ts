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
import { DroverError, messageOf } from '../../shared/errors.js';
import { MAX_FRAME_BYTES } from '../../shared/memory/layout.js';
import { KIND_CODE, NO_LEVEL } from '../../shared/stream/frame.js';
import { checkNamed, parseJson } from '../wire/bus-validators.js';
import { laterVersion, PROTOCOL, READABLE } from '../wire/names.js';

export const MAGIC = 0x4452_4231;
export const HEADER_BYTES = 8;
export const FRAME_BYTES = 10;
export const MAX_FRAMES = 4096;
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** Longest data of a frame: the rest of the frame has to fit beside it. */
const MAX_DATA_BYTES = MAX_FRAME_BYTES - 512;
const MAX_KIND = Math.max(...Object.values(KIND_CODE));
const [OPENING, CLOSING, LINE_FEED, RETURN] = [0x7b, 0x7d, 0x0a, 0x0d];
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
  /**
   * `fence`: another node has published it: the lease of this one has run out. `none`: the message is no block, and this stands for it
   * ({@link gapBlock}).
   */
  type: 'frames' | 'fence' | 'none';
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
  /** Of a fence: the incarnation that it is for, whose unpublished frames are declared. Earlier releases do not say it. */
  of?: string;
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
    this.#kinds = 4 + (body.length < 4 ? 0 : body.readUInt32LE(0));
    if (this.#kinds + FRAME_BYTES * count > body.length) throw noBlock('its body is cut');
    this.names = parseJson(body.toString('utf8', 4, this.#kinds)) as string[];
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

  /** @throws DroverError when what it has is not what blocks have. */
  checked(): this {
    const { body, names, data } = this;
    if (!Array.isArray(names) || names.some((name) => typeof name !== 'string')) {
      throw noBlock('its names are none');
    }
    if (body.includes(LINE_FEED, data) || body.includes(RETURN, data)) {
      throw noBlock('its frames have line breaks');
    }
    let from = data;
    for (let at = 0; at < this.head.count; at++) {
      const kind = this.kind(at);
      const length = this.length(at);
      const last = from + length - 1;
      const isKnown = kind <= MAX_KIND && this.level(at) <= NO_LEVEL;
      const isNamed = this.session(at) <= names.length && this.scope(at) <= names.length;
      const isObject = length > 1 && body[from] === OPENING && body[last] === CLOSING;
      if (!isKnown || !isNamed || !isObject || length > MAX_DATA_BYTES || last >= body.length) {
        throw noBlock(`its frame ${at + 1} is none`);
      }
      if (kind !== KIND_CODE.log) checkJson(kind, body.toString('utf8', from, last + 1));
      from = last + 1;
    }
    if (from !== body.length) throw noBlock('its frames are not all of it');
    return this;
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

/** Snapshots are read by all nodes, also where no client reads them. */
function checkJson(kind: number, json: string): void {
  const value = parseJson(json);
  if (kind === KIND_CODE.session) checkNamed('BusMessages', 'session', value);
}

/** Takes the signature from the head. @throws DroverError when it is not the right one. */
export type OpenHead = (head: string, packed: Uint8Array) => string;

/** The block is of a version that this release does not read. */
export class LaterVersionError extends DroverError {
  constructor(v: number) {
    super(
      'unavailable',
      `a node publishes version ${v} of the protocol; this one knows version ${READABLE}: update it`,
    );
  }
}

/**
 * Checks all that those who write it to a ring rely on: they write frames or nothing. The JSON of lines is not read.
 * @throws DroverError that says why the bytes are no block; {@link LaterVersionError}.
 */
export function decodeBlock(bytes: Uint8Array, open: OpenHead = (head) => head): ReadBlock {
  const block = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (block.length < HEADER_BYTES || block.readUInt32LE(0) !== MAGIC) {
    throw noBlock('it does not begin as one');
  }
  const end = HEADER_BYTES + block.readUInt32LE(4);
  if (end > block.length) throw noBlock('it is cut');
  const packed = block.subarray(end);
  const head = parseJson(open(block.toString('utf8', HEADER_BYTES, end), packed)) as BlockHead;
  if (laterVersion(head?.v) !== null) throw new LaterVersionError(head.v);
  checkNamed('BusMessages', 'block', head);
  return new ReadBlock(head, unpacked(packed, head.size)).checked();
}

/** What stands for a message that is no block: a gap, which counts as one frame on every node. */
export function gapBlock(): ReadBlock {
  const names = Buffer.from('[]');
  const data = Buffer.from('{}');
  const body = Buffer.alloc(4 + names.length + FRAME_BYTES + data.length);
  body.writeUInt32LE(names.length, 0);
  names.copy(body, 4);
  const columns = 4 + names.length;
  body.writeUInt8(KIND_CODE.gap, columns);
  body.writeUInt8(NO_LEVEL, columns + 1);
  body.writeUInt32LE(data.length, columns + FRAME_BYTES - 4);
  data.copy(body, columns + FRAME_BYTES);
  const numbers = { first: 0, next: 0, count: 1, size: body.length, at: { seq: 0, total: 0 } };
  const nobody = { v: PROTOCOL, node: '', incarnation: '', epoch: '' };
  return new ReadBlock({ ...nobody, ...numbers, type: 'none' }, body);
}

function unpacked(packed: Uint8Array, size: number): Buffer {
  let body: Buffer;
  try {
    body = brotliDecompressSync(packed, {
      chunkSize: Math.max(MIN_CHUNK, size),
      maxOutputLength: MAX_BODY_BYTES,
    });
  } catch (thrown) {
    throw noBlock(messageOf(thrown));
  }
  if (body.length !== size) throw noBlock('its body has another size than it says');
  return body;
}

function noBlock(why: string): DroverError {
  return new DroverError('bad_request', `it is no block of Drover: ${why}`);
}
