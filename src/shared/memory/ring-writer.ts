// Runs in the broadcaster thread, or the bus thread of a cluster: the ring's one writer. Owns HEAD, TAIL, the index ring and the byte ring.
//
// Contract: one writer, many readers (ring-reader.ts), each reader with its own READING cell.
//
// Why no reader sends bytes that are being overwritten. All cells are read and written with Atomics, which are
// sequentially consistent: all threads agree on one order of these operations.
//   writer:  (W1) TAIL := t     (W2) wait while some READING < t     (W3) overwrite frames below t
//   reader:  (R1) READING := c  (R2) if TAIL > c give up             (R3) read frames from c on  (R4) READING := IDLE
// If R1 comes before W2 in that order, W2 sees c < t and waits for R4, which comes after R3: the reads are over.
// If R1 comes after W2, then R2 comes after W1 and sees t > c: the reader gives up before R3. There is no third case.
// Frames and records themselves are plain memory: a reader reads only frames below a HEAD that it has loaded, and
// the writer stored HEAD after it wrote them, so the store and the load order the plain accesses too.

import {
  ARMED_FOR_NEXT,
  AWAKE,
  armedCell,
  type FrameMeta,
  HALF_STRIDE,
  HEAD,
  IDLE,
  KIND_OCTET,
  LENGTH_WORD,
  LEVEL_OCTET,
  MAX_FRAME_BYTES,
  NODE_HALF,
  openRing,
  POSITION_STRIDE,
  RECORD_BYTES,
  RING_STEPS,
  type RingViews,
  readingCell,
  SCOPE_WORD,
  SESSION_WORD,
  type SharedRing,
  TAIL,
  WORD_STRIDE,
} from './layout.js';

/** Pending text is written when it would grow beyond this, in UTF-16 units; as UTF-8 it is below the largest frame. */
const MAX_PENDING_UNITS = 16_384;

/** Longest sleep of the writer before it checks a READING cell again, in ms; a front's slice lasts 2 ms. */
const RECHECK_MS = 1;

export class RingWriter {
  readonly #ring: RingViews;
  readonly #slotMask: number;
  /** How far ahead space is reclaimed, so that the READING cells are checked rarely. */
  readonly #stepBytes: number;
  readonly #stepSlots: number;
  readonly #maxPending: number;
  #head: number;
  #tail: number;
  /** Where the next frame goes: bytes since the ring was created. */
  #position: number;
  /** The bytes before this position, and the slots before this frame, may be overwritten: no reader is there. */
  #clearBytes: number;
  #clearSlots: number;
  /** The ring has moved by a step since the last publish. */
  #hasStepped = false;
  /** Frames that are numbered and indexed but not yet in the byte ring, and their text in one: writing many at once
   * costs a fraction of writing each. */
  #pending: string[] = [];
  #pendingText = '';
  /** How often the writer had to wait for a reader. */
  waits = 0;
  readonly #onReclaim: (to: number) => void;

  /**
   * Opens the ring where the last writer left it; a frame that was not published is not there.
   * @param onReclaim is called before the frames before `to` are overwritten, while {@link text} can still read them.
   */
  constructor(shared: SharedRing, onReclaim: (to: number) => void = () => {}) {
    this.#onReclaim = onReclaim;
    const ring = openRing(shared);
    this.#ring = ring;
    this.#slotMask = ring.slots - 1;
    this.#stepBytes = Math.floor(ring.bytes / RING_STEPS);
    this.#stepSlots = Math.max(1, Math.floor(ring.slots / RING_STEPS));
    this.#maxPending = Math.min(MAX_PENDING_UNITS, this.#stepBytes);
    const head = Number(Atomics.load(ring.cells, HEAD));
    this.#tail = Number(Atomics.load(ring.cells, TAIL));
    // A writer that died in a burst larger than the ring leaves TAIL ahead of HEAD: those numbers are used up.
    this.#head = Math.max(head, this.#tail);
    this.#position = head > this.#tail ? this.#endOf(head - 1) : 0;
    this.#clearBytes = this.#position;
    this.#clearSlots = this.#head;
    // The dead writer may also have moved TAIL without having waited.
    this.#awaitReaders();
  }

  /** Sequence number of the next frame. */
  get next(): number {
    return this.#head;
  }

  /** Sequence number of the oldest frame that is still whole. */
  get oldest(): number {
    return this.#tail;
  }

  /** The text of a frame that is whole and was published. */
  text(seq: number): string {
    const start = this.#positionOf(seq) % this.#ring.bytes;
    return this.#ring.data.toString('utf8', start, start + this.#lengthOf(seq));
  }

  /** The kind of a whole frame, and the hash of its session id. */
  about(seq: number): Pick<FrameMeta, 'kind' | 'sessionLow' | 'sessionHigh'> {
    const { words, octets } = this.#ring;
    const slot = seq & this.#slotMask;
    const word = slot * WORD_STRIDE;
    return {
      kind: octets[slot * RECORD_BYTES + KIND_OCTET] as number,
      sessionLow: words[word + SESSION_WORD] as number,
      sessionHigh: words[word + SESSION_WORD + 1] as number,
    };
  }

  /**
   * Appends one frame. Readers see it after {@link publish}.
   * @throws RangeError when it is larger than the largest frame; the ring is then as before.
   */
  append(frame: string, meta: FrameMeta): void {
    // A UTF-16 unit takes at most 3 bytes in UTF-8, so that most frames need not be measured.
    const most = Math.min(MAX_FRAME_BYTES, this.#ring.bytes);
    if (frame.length * 3 > most && Buffer.byteLength(frame) > most) {
      throw new RangeError(`a frame of ${Buffer.byteLength(frame)} bytes is too large`);
    }
    if (this.#pendingText.length + frame.length > this.#maxPending) this.#write();
    if (this.#head >= this.#clearSlots) {
      this.#write();
      this.#reclaim(this.#position, this.#head + this.#stepSlots);
    }
    this.#index(meta);
    this.#pending.push(frame);
    this.#pendingText += frame;
    this.#head += 1;
  }

  /** The most bytes and frames of one {@link appendPiece}; a piece of one frame may have more bytes. */
  get maxPiece(): { bytes: number; frames: number } {
    return { bytes: this.#maxPending, frames: this.#stepSlots };
  }

  /**
   * Appends frames that are bytes already, in one piece. Readers see them after {@link publish}.
   * @param lengths of the frames. @param count how many there are. @param metaAt is called for each in turn, and may return the same object.
   * @throws RangeError when a frame is larger than the largest one; the ring is then as before.
   */
  appendPiece(
    piece: Uint8Array,
    lengths: Uint32Array,
    count: number,
    metaAt: (at: number) => FrameMeta,
  ): void {
    const { data, bytes } = this.#ring;
    if (count === 1 && piece.length > Math.min(MAX_FRAME_BYTES, bytes)) {
      throw new RangeError(`a frame of ${piece.length} bytes is too large`);
    }
    this.#write();
    if (this.#head + count > this.#clearSlots) {
      this.#reclaim(this.#position, this.#head + Math.max(count, this.#stepSlots));
    }
    this.#reserve(piece.length);
    data.set(piece, this.#position % bytes);
    for (let at = 0; at < count; at++) {
      this.#index(metaAt(at));
      this.#place(this.#head, lengths[at] as number);
      this.#head += 1;
    }
  }

  /** Index fields of the next frame. */
  #index(meta: FrameMeta): void {
    const { words, halves, octets } = this.#ring;
    const slot = this.#head & this.#slotMask;
    const word = slot * WORD_STRIDE;
    words[word + SESSION_WORD] = meta.sessionLow;
    words[word + SESSION_WORD + 1] = meta.sessionHigh;
    words[word + SCOPE_WORD] = meta.scopeLow;
    words[word + SCOPE_WORD + 1] = meta.scopeHigh;
    halves[slot * HALF_STRIDE + NODE_HALF] = meta.node;
    const octet = slot * RECORD_BYTES;
    octets[octet + KIND_OCTET] = meta.kind;
    octets[octet + LEVEL_OCTET] = meta.level;
  }

  /** The place of the frame that is written next. */
  #place(seq: number, length: number): void {
    const { positions, words } = this.#ring;
    const slot = seq & this.#slotMask;
    positions[slot * POSITION_STRIDE] = this.#position;
    words[slot * WORD_STRIDE + LENGTH_WORD] = length;
    this.#position += length;
  }

  /**
   * Shows readers all frames written so far.
   * @returns the fronts that sleep and have to be woken; each is named once for each time it armed its doorbell. One that
   * sleeps until the ring has moved by a step is named with the first publish after that.
   */
  publish(): number[] {
    this.#write();
    const { cells, fronts } = this.#ring;
    Atomics.store(cells, HEAD, BigInt(this.#head));
    const wake: number[] = [];
    for (let front = 0; front < fronts; front++) {
      const cell = armedCell(front);
      const armed = Atomics.load(cells, cell);
      if (armed !== ARMED_FOR_NEXT && (armed === AWAKE || !this.#hasStepped)) continue;
      if (Atomics.exchange(cells, cell, AWAKE) !== AWAKE) wake.push(front);
    }
    this.#hasStepped = false;
    return wake;
  }

  /** Writes the pending frames to the byte ring in one piece, and their places to the index. */
  #write(): void {
    const frames = this.#pending;
    if (frames.length === 0) return;
    const text = this.#pendingText;
    this.#reserve(frames.length === 1 ? Buffer.byteLength(text) : text.length * 3);
    const { data, bytes } = this.#ring;
    const written = data.write(text, this.#position % bytes, 'utf8');
    // The same number of bytes and units means that the text, and so each frame, is ASCII.
    const ascii = written === text.length;
    let seq = this.#head - frames.length;
    for (const frame of frames) {
      this.#place(seq, ascii ? frame.length : Buffer.byteLength(frame));
      seq += 1;
    }
    this.#pending = [];
    this.#pendingText = '';
  }

  /** Makes room for `bytes` bytes in one piece. */
  #reserve(bytes: number): void {
    const size = this.#ring.bytes;
    const place = this.#position % size;
    if (place + bytes > size) this.#position += size - place;
    if (this.#position + bytes > this.#clearBytes) {
      this.#reclaim(this.#position + bytes + this.#stepBytes, this.#head);
    }
  }

  /** Frees the oldest frames until everything before `toPosition` and `toSlot` is free, and waits for their readers. */
  #reclaim(toPosition: number, toSlot: number): void {
    const { bytes, slots, cells } = this.#ring;
    // Pending frames have no place yet; what is written but not published may be freed too, in a burst larger than
    // the ring: TAIL then runs ahead of HEAD until the next publish, and readers take that as an empty ring.
    const written = this.#head - this.#pending.length;
    let tail = Math.min(Math.max(this.#tail, toSlot - slots), written);
    while (tail < written && this.#positionOf(tail) < toPosition - bytes) tail += 1;
    if (tail !== this.#tail) {
      this.#onReclaim(tail);
      this.#tail = tail;
      Atomics.store(cells, TAIL, BigInt(tail));
      this.#awaitReaders();
    }
    this.#clearBytes = Math.max(this.#clearBytes, toPosition);
    this.#clearSlots = Math.max(this.#clearSlots, toSlot);
    this.#hasStepped = true;
  }

  /** Returns when no front reads a freed frame. */
  #awaitReaders(): void {
    const { cells, fronts } = this.#ring;
    const limit = BigInt(this.#tail);
    for (let front = 0; front < fronts; front++) {
      const cell = readingCell(front);
      for (;;) {
        const reading = Atomics.load(cells, cell);
        if (reading === IDLE || reading >= limit) break;
        this.waits += 1;
        Atomics.wait(cells, cell, reading, RECHECK_MS);
      }
    }
  }

  #positionOf(seq: number): number {
    return this.#ring.positions[(seq & this.#slotMask) * POSITION_STRIDE] as number;
  }

  #lengthOf(seq: number): number {
    return this.#ring.words[(seq & this.#slotMask) * WORD_STRIDE + LENGTH_WORD] as number;
  }

  #endOf(seq: number): number {
    return this.#positionOf(seq) + this.#lengthOf(seq);
  }
}
