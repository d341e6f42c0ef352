// A thread of ring-torture.test.ts: the writer or a reading front. Owns its cursor, and runs the build named in `build`.

import { parentPort, workerData } from 'node:worker_threads';

const { role, build, ring, control, seed, frames, front, cursors, protects } = workerData;
const { RingWriter } = await import(new URL('ring-writer.js', build).href);
const { RingReader } = await import(new URL('ring-reader.js', build).href);

/** Cells of `control`: the head after the last frame (0 before it is known), then one doorbell for each front. */
const cells = new BigInt64Array(control);
const FINAL = 0;
const bellOf = (number) => 1 + number;
/** Never written or notified: a cell to sleep on. */
const nowhere = new Int32Array(new SharedArrayBuffer(4));

const MAX_SLICE = 2048;
const BODIES = 512;
/** A doorbell that takes longer than this, in ms, was not rung. */
const LOST_BELL_MS = 10_000;

const random = mulberry32(seed);
const below = (limit) => Math.floor(random() * limit);

/** Small, seeded, fast. */
function mulberry32(state) {
  let a = state | 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function fnv(bytes, from, to) {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at], 0x01000193);
  return hash >>> 0;
}

/** A frame's checksum: that of its body combined with the sequence number. */
function checksum(bodyHash, seq, length) {
  return Math.imul(bodyHash ^ Math.imul(seq, 0x9e3779b1), 0x85ebca6b + length) >>> 0;
}

// A frame: `<12 digits seq> <5 digits length> <8 hex checksum> <body>\n`.
const HEADER = 12 + 1 + 5 + 1 + 8 + 1;

/** The index entry of a frame. A front checks it as a filter would read it. */
function metaOf(seq) {
  return {
    kind: seq % 3,
    level: seq % 5,
    sessionLow: Math.imul(seq, 3) >>> 0,
    sessionHigh: Math.imul(seq, 5) >>> 0,
    scopeLow: Math.imul(seq, 7) >>> 0,
    scopeHigh: Math.imul(seq, 11) >>> 0,
  };
}

function write() {
  const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789é€😀';
  const letters = [...LETTERS];
  const bodies = Array.from({ length: BODIES }, (_, at) => {
    // Mostly short, some of several hundred bytes.
    const length = at % 16 === 0 ? below(400) : below(90);
    const text = Array.from({ length }, () => letters[below(letters.length)]).join('');
    const bytes = Buffer.from(text);
    return { text, length: bytes.length, hash: fnv(bytes, 0, bytes.length) };
  });
  let writer = new RingWriter(ring);
  const first = writer.next;
  let waits = 0;
  let restarts = 0;
  let bytes = 0;
  const ringBells = (fronts) => {
    for (const number of fronts) {
      Atomics.add(cells, bellOf(number), 1n);
      Atomics.notify(cells, bellOf(number));
    }
  };
  const append = () => {
    const seq = writer.next;
    const body = bodies[below(BODIES)];
    const length = HEADER + body.length + 1;
    const sum = checksum(body.hash, seq, length).toString(16).padStart(8, '0');
    const header = `${String(seq).padStart(12, '0')} ${String(length).padStart(5, '0')} ${sum} `;
    bytes += length;
    writer.append(`${header}${body.text}\n`, metaOf(seq));
  };
  while (writer.next < first + frames) {
    const dice = below(1000);
    // Mostly small publishes, sometimes a burst larger than the whole ring.
    const burst = dice === 0 ? 300 : 1 + below(24);
    for (let left = burst; left > 0; left--) append();
    if (dice === 1) {
      // The writer dies with unpublished frames, and another opens the ring.
      waits += writer.waits;
      restarts += 1;
      writer = new RingWriter(ring);
    }
    ringBells(writer.publish());
    // Sometimes all fronts catch up and go to sleep.
    if (dice === 2) Atomics.wait(nowhere, 0, 0, 1);
  }
  append();
  Atomics.store(cells, FINAL, BigInt(writer.next));
  ringBells(writer.publish());
  return { role, written: writer.next - first, bytes, waits: waits + writer.waits, restarts };
}

/** Between two parts of a copy: mostly no delay, sometimes a short one, sometimes it yields the core. */
function dawdle() {
  const dice = below(200);
  if (dice < 20) {
    for (let spins = below(2000); spins > 0; spins--) Atomics.load(nowhere, 0);
  } else if (dice === 20) {
    Atomics.wait(nowhere, 0, 0, 0.2);
  }
}

function read() {
  const reader = new RingReader(ring, front);
  const target = Buffer.alloc(MAX_SLICE);
  const start = reader.head();
  const counts = { read: 0, lapped: 0, laps: 0, torn: 0, slices: 0, lostBells: 0, slept: 0 };
  let example;
  const subscribers = Array.from({ length: cursors }, (_, at) => ({
    cursor: start,
    /** Half of the fronts read as a filter does: record by record, frame by frame. */
    gathers: at % 2 === 1,
    read: 0,
    lapped: 0,
  }));

  const torn = (what) => {
    counts.torn += 1;
    example ??= what;
  };

  /** Copies as the kernel does on a socket write, but with pauses. */
  const copySlowly = (bytes) => {
    const length = Math.min(bytes.length, MAX_SLICE);
    const parts = 1 + below(4);
    for (let part = 0; part < parts; part++) {
      const from = Math.floor((length * part) / parts);
      const to = Math.floor((length * (part + 1)) / parts);
      target.set(bytes.subarray(from, to), from);
      dawdle();
    }
    return length;
  };

  /** Checks a copy after the ring is released. Returns the number of complete frames from `seq`. */
  const verify = (length, first, next) => {
    let at = 0;
    for (let seq = first; seq < next; seq++) {
      const number = Number(target.latin1Slice(at, at + 12));
      const size = Number(target.latin1Slice(at + 13, at + 18));
      if (number !== seq) return torn(`frame ${seq} bears the number ${number}`);
      if (!(size > HEADER) || at + size > length)
        return torn(`frame ${seq} says it has ${size} bytes`);
      const said = Number.parseInt(target.latin1Slice(at + 19, at + 27), 16);
      const is = checksum(fnv(target, at + HEADER, at + size - 1), seq, size);
      if (said !== is) return torn(`frame ${seq} has the checksum ${is} and says ${said}`);
      if (target[at + size - 1] !== 10) return torn(`frame ${seq} does not end`);
      at += size;
    }
    return at === length ? undefined : torn(`${length - at} bytes behind frame ${next - 1}`);
  };

  const checkMeta = (seq) => {
    const meta = metaOf(seq);
    const is =
      reader.kind(seq) === meta.kind &&
      reader.level(seq) === meta.level &&
      reader.sessionLow(seq) === meta.sessionLow &&
      reader.sessionHigh(seq) === meta.sessionHigh &&
      reader.scopeLow(seq) === meta.scopeLow &&
      reader.scopeHigh(seq) === meta.scopeHigh;
    if (!is) torn(`the record of frame ${seq} is another's`);
  };

  const gather = (subscriber, head) => {
    let size = 0;
    let seq = subscriber.cursor;
    const limit = Math.min(head, seq + 1 + below(12));
    for (; seq < limit; seq++) {
      checkMeta(seq);
      const length = reader.length(seq);
      if (size + length > MAX_SLICE) break;
      size += reader.copy(seq, target, size);
      dawdle();
    }
    // A torn record may claim any length: continue after it regardless.
    const next = Math.max(seq, subscriber.cursor + 1);
    verify(size, subscriber.cursor, next);
    return next;
  };

  const send = (subscriber, head) => {
    const slice = reader.slice(subscriber.cursor, head, MAX_SLICE);
    if (slice.bytes.length > MAX_SLICE) torn(`a slice of ${slice.bytes.length} bytes`);
    const length = copySlowly(slice.bytes);
    verify(length, subscriber.cursor, slice.next);
    return slice.next;
  };

  const serve = (subscriber, head) => {
    if (subscriber.cursor >= head) return;
    const safe = protects ? reader.protect(subscriber.cursor) : reader.tail() <= subscriber.cursor;
    if (!safe) {
      // The writer's position, or the oldest frame, which it is about to overwrite.
      const to = Math.max(below(2) === 0 ? reader.tail() : reader.head(), subscriber.cursor + 1);
      subscriber.lapped += to - subscriber.cursor;
      subscriber.cursor = to;
      counts.laps += 1;
      return;
    }
    const next = subscriber.gathers ? gather(subscriber, head) : send(subscriber, head);
    subscriber.read += next - subscriber.cursor;
    subscriber.cursor = next;
    counts.slices += 1;
  };

  for (;;) {
    const rung = Atomics.load(cells, bellOf(front));
    const head = reader.head();
    const offset = below(cursors);
    for (let at = 0; at < cursors; at++) serve(subscribers[(at + offset) % cursors], head);
    reader.release();
    if (below(50) === 0) Atomics.wait(nowhere, 0, 0, 1);
    if (subscribers.some(({ cursor }) => cursor < head)) continue;
    const final = Number(Atomics.load(cells, FINAL));
    if (final !== 0 && head >= final) break;
    if (!reader.arm(head)) continue;
    counts.slept += 1;
    if (Atomics.wait(cells, bellOf(front), rung, LOST_BELL_MS) === 'timed-out')
      counts.lostBells += 1;
  }
  for (const { read, lapped } of subscribers) {
    counts.read += read;
    counts.lapped += lapped;
  }
  const sums = subscribers.map(({ read, lapped, cursor }) => ({
    sum: read + lapped,
    from: start,
    cursor,
  }));
  return { role, front, ...counts, sums, example };
}

parentPort.postMessage(role === 'writer' ? write() : read());
