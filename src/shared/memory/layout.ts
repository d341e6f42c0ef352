// Every offset in shared memory; no other module does arithmetic on it.
//
// The frame ring, one SharedArrayBuffer:
//
//   0                  64                 128                     128 + 128 F             ... slots x 32           ... bytes
//   +------------------+------------------+-----------------------+-----------------------+------------------------+
//   | HEAD  i64        | TAIL  i64        | per front, 128 bytes: | index ring            | byte ring              |
//   | next frame to    | oldest frame     |  +0  READING i64      | one 32-byte record    | frames, each in one    |
//   | be published     | still whole      |  +64 ARMED   i64      | per frame             | piece, ready to send   |
//   +------------------+------------------+-----------------------+-----------------------+------------------------+
//
// Each atomic cell has its own cache line (64 bytes), so that one thread's store does not slow another's load.
//
// An index record. `position` counts bytes since the ring was created and never wraps (exact up to 2^53);
// the place in the byte ring is position % bytes. A frame never crosses the end of the byte ring.
//
//   0               8          12      13      14       16             24            32
//   +---------------+----------+-------+-------+--------+--------------+-------------+
//   | position f64  | length   | kind  | level | node   | session hash | scope hash  |
//   |               | u32      | u8    | u8    | u16    | 2 x u32      | 2 x u32     |
//   +---------------+----------+-------+-------+--------+--------------+-------------+

const LINE = 64;
const CELLS_PER_LINE = LINE / 8;
export const RECORD_BYTES = 32;

/**
 * What an ARMED cell asks the writer for: nothing, to be woken at the next publish, or only when the ring has moved by a step
 * (STEPS to a ring).
 */
export const AWAKE = 0n;
export const ARMED_FOR_NEXT = 1n;
export const ARMED_FOR_STEP = 2n;
/** Space on the ring is reclaimed in so many steps. A reader that wakes at each step is never lapped while it sleeps. */
export const RING_STEPS = 16;

/** Value of a front's READING cell while it reads nothing. Any other value is the lowest sequence number it reads. */
export const IDLE = -1n;

/** The largest frame, in bytes; also the largest single write to a subscriber (uWebSockets.js issue 1249). */
export const MAX_FRAME_BYTES = 64 * 1024;

/** Sizes of one ring; with the buffer it is all that a thread needs to open it. */
export interface RingSize {
  /** Bytes of the byte ring. */
  bytes: number;
  /** Records of the index ring, a power of two. */
  slots: number;
  /** Number of fronts, each with a READING and an ARMED cell. */
  fronts: number;
}

/** A ring, as passed to a thread: structured clone shares the buffer. */
export interface SharedRing extends RingSize {
  buffer: SharedArrayBuffer;
}

/** The index fields of a frame besides its place: enough to filter it without reading it. */
export interface FrameMeta {
  /** Index in KINDS. */
  kind: number;
  /** Index in LEVELS, NO_LEVEL for frames without a level. */
  level: number;
  /** 64-bit hash of the session id as two words, 0 and 0 for none. */
  sessionLow: number;
  sessionHigh: number;
  /** 64-bit hash of the scope as two words, 0 and 0 for none. */
  scopeLow: number;
  scopeHigh: number;
  /** Number of the node that it is from (node-names.ts), 0 on a node's own stream. */
  node: number;
}

/** Typed views on a ring. All threads see the same memory through them. */
export interface RingViews extends RingSize {
  /** HEAD, TAIL, READING and ARMED cells; use the indices below. */
  cells: BigInt64Array<SharedArrayBuffer>;
  positions: Float64Array<SharedArrayBuffer>;
  words: Uint32Array<SharedArrayBuffer>;
  halves: Uint16Array<SharedArrayBuffer>;
  octets: Uint8Array<SharedArrayBuffer>;
  data: Buffer<SharedArrayBuffer>;
}

export const HEAD = 0;
export const TAIL = CELLS_PER_LINE;
export const readingCell = (front: number): number => (2 + 2 * front) * CELLS_PER_LINE;
export const armedCell = (front: number): number => (3 + 2 * front) * CELLS_PER_LINE;

// Places of a record's fields in the views, for the record in slot 0; add slot x stride.
export const POSITION_STRIDE = RECORD_BYTES / 8;
export const WORD_STRIDE = RECORD_BYTES / 4;
export const HALF_STRIDE = RECORD_BYTES / 2;
export const LENGTH_WORD = 2;
export const KIND_OCTET = 12;
export const LEVEL_OCTET = 13;
export const NODE_HALF = 7;
export const SESSION_WORD = 4;
export const SCOPE_WORD = 6;

/** Creates a ring in new shared memory: empty, without readers, numbered from `first` on. */
export function createRing(size: RingSize, first: number): SharedRing {
  if (size.slots < 1 || (size.slots & (size.slots - 1)) !== 0) {
    throw new RangeError('slots must be a power of two');
  }
  const buffer = new SharedArrayBuffer(headerBytes(size) + size.slots * RECORD_BYTES + size.bytes);
  const ring = { ...size, buffer };
  const { cells } = openRing(ring);
  cells[HEAD] = cells[TAIL] = BigInt(first);
  for (let front = 0; front < size.fronts; front++) cells[readingCell(front)] = IDLE;
  return ring;
}

/** Views on a ring of {@link createRing}. */
export function openRing(ring: SharedRing): RingViews {
  const { buffer, bytes, slots, fronts } = ring;
  const header = headerBytes(ring);
  const index = slots * RECORD_BYTES;
  return {
    bytes,
    slots,
    fronts,
    cells: new BigInt64Array(buffer, 0, header / 8),
    positions: new Float64Array(buffer, header, index / 8),
    words: new Uint32Array(buffer, header, index / 4),
    halves: new Uint16Array(buffer, header, index / 2),
    octets: new Uint8Array(buffer, header, index),
    data: Buffer.from(buffer, header + index, bytes),
  };
}

/** Index slots for a byte ring: a power of two that outlasts the bytes for frames of 256 bytes and more. */
export function slotsFor(bytes: number): number {
  return 2 ** Math.max(10, Math.ceil(Math.log2(bytes / 256)));
}

function headerBytes(size: RingSize): number {
  return (2 + 2 * size.fronts) * LINE;
}
