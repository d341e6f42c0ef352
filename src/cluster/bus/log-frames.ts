// Runs in the bus thread. Builds `log` frames of the cluster's stream from the data in a block, as bytes: only the id of each is new.
//
//   | prefix: what stands before the data | frames that are built | data of the block |
//
// All in one buffer, because bytes move within a buffer at a fraction of what a copy between two costs. The number in the prefix counts
// up in place.

import { MAX_FRAME_BYTES } from '../../shared/memory/layout.js';
import { eventId, sseFrame } from '../../shared/stream/frame.js';

const PREFIX_BYTES = 128;
const ZERO = 0x30;
const NINE = 0x39;
const LINE_FEED = 0x0a;

export class LogFrames {
  readonly #epoch: string;
  readonly #max: { bytes: number; frames: number };
  /** Where the data of the block begins. */
  readonly #data: number;
  #buffer = Buffer.alloc(0);
  #prefix = 0;
  #lastDigit = 0;
  #digits = 0;
  /** Number of the next frame; that of the prefix is one less. */
  #next = -1;
  #end = PREFIX_BYTES;
  count = 0;
  /** Of the frames that are built, in bytes. */
  readonly lengths: Uint32Array;

  /** @param max of the frames that are built before they are taken; a single frame may be larger. */
  constructor(epoch: string, max: { bytes: number; frames: number }) {
    this.#epoch = epoch;
    this.#max = max;
    this.#data = PREFIX_BYTES + max.bytes + 2 * MAX_FRAME_BYTES;
    this.lengths = new Uint32Array(max.frames);
  }

  /** Takes the data of a block, while no frame is built. */
  load(data: Uint8Array): void {
    const size = this.#data + data.length;
    if (this.#buffer.length < size) {
      this.#buffer = Buffer.allocUnsafeSlow(2 * size);
      this.#next = -1;
    }
    this.#buffer.set(data, this.#data);
  }

  /** Whether a frame with so many bytes of data has to wait until the others are taken. */
  isFull(length: number): boolean {
    if (this.count === 0) return false;
    const size = this.#end + length;
    return this.count === this.lengths.length || size > this.#max.bytes;
  }

  /** Builds frame `seq`. @param from place of its data in the block. @throws RangeError when it is too large. */
  add(seq: number, from: number, length: number): void {
    if (length > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${length} bytes is too large`);
    if (seq !== this.#next || !this.#increment()) this.#writePrefix(seq);
    this.#next = seq + 1;
    const buffer = this.#buffer;
    const begin = this.#end;
    buffer.copyWithin(begin, 0, this.#prefix);
    const data = begin + this.#prefix;
    buffer.copyWithin(data, this.#data + from, this.#data + from + length);
    const end = data + length;
    buffer[end] = LINE_FEED;
    buffer[end + 1] = LINE_FEED;
    this.#end = end + 2;
    this.lengths[this.count++] = this.#end - begin;
  }

  /** The frames that are built; they are valid until the next one is. */
  take(): Uint8Array {
    const bytes = this.#buffer.subarray(PREFIX_BYTES, this.#end);
    this.#end = PREFIX_BYTES;
    this.count = 0;
    return bytes;
  }

  /** @returns false when the number gets another digit. */
  #increment(): boolean {
    const buffer = this.#buffer;
    let at = this.#lastDigit;
    for (let digits = this.#digits; digits > 0; digits--, at--) {
      if (buffer[at] !== NINE) {
        buffer[at] = (buffer[at] as number) + 1;
        return true;
      }
      buffer[at] = ZERO;
    }
    return false;
  }

  #writePrefix(seq: number): void {
    const id = eventId(this.#epoch, seq);
    const frame = sseFrame(id, 'log', '');
    this.#prefix = this.#buffer.write(frame, 0, 'latin1') - 2;
    this.#digits = String(seq).length;
    this.#lastDigit = frame.indexOf('\n') - 1;
  }
}
