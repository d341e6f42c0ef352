// Runs in the broadcaster thread. Owns each bot's last lines, for incident reports: they survive the loss of a bot host. A
// line costs one number on its way to the ring. The lines stay on the ring; only a line that is among its bot's last when the
// ring overwrites it is saved, as text.

import type { LogEvent } from '../shared/contract/events.js';
import type { LastLine } from '../shared/contract/threads.js';
import { copyOfText } from '../shared/copy-of-text.js';
import { frameData } from '../shared/stream/frame.js';

/** Lines of a bot that are kept. */
const LINES = 20;
/** Longest line, in UTF-16 units; longer ones are cut. */
const MAX_LINE_UNITS = 1024;
/** Bound of all saved lines, in UTF-16 units; the oldest are dropped first. */
const MAX_SAVED_UNITS = 16 * 1024 * 1024;

/** The frames that are on the ring. */
export interface Frames {
  /** Sequence number of the oldest frame on the ring. */
  readonly oldest: number;
  /** The text of a frame on the ring. */
  text(seq: number): string;
}

/** One bot's last lines. No line has the sequence number 0. */
interface Recent {
  id: string;
  seqs: Float64Array;
  /** Slot of the next line; it holds the oldest. */
  next: number;
}

export class LastLines {
  readonly #frames: Frames;
  readonly #bots = new Map<string, Recent>();
  /** Lines that have left the ring, by sequence number, in the order in which they were saved. Bounded by MAX_SAVED_UNITS. */
  readonly #saved = new Map<number, LastLine>();
  #savedUnits = 0;
  readonly #maxSavedUnits: number;
  /** A bot's lines come in runs. */
  #lastName: object | undefined;
  #last: Recent | undefined;

  constructor(frames: Frames, maxSavedUnits = MAX_SAVED_UNITS) {
    this.#frames = frames;
    this.#maxSavedUnits = maxSavedUnits;
  }

  /** Keeps the lines of this bot from now on. Bounded by the number of bots. */
  add(id: string): void {
    if (this.#bots.has(id)) return;
    this.#bots.set(id, { id, seqs: new Float64Array(LINES), next: 0 });
    this.#lastName = undefined;
  }

  remove(id: string): void {
    for (const seq of this.#bots.get(id)?.seqs ?? []) this.#forget(seq);
    this.#bots.delete(id);
    this.#lastName = undefined;
  }

  /** Frame `seq` is a line of the bot. @param name the same object for the same name: the last one is cached by identity. */
  note(id: string, name: object, seq: number): void {
    if (name !== this.#lastName) {
      this.#lastName = name;
      this.#last = this.#bots.get(id);
    }
    const recent = this.#last;
    if (!recent) return;
    const slot = recent.next;
    const surplus = recent.seqs[slot] as number;
    if (surplus > 0 && surplus < this.#frames.oldest) this.#forget(surplus);
    recent.seqs[slot] = seq;
    recent.next = slot + 1 === LINES ? 0 : slot + 1;
  }

  /** The ring is about to overwrite the frames before `to`, which can still be read. */
  save(to: number): void {
    const from = this.#frames.oldest;
    for (const { seqs, next } of this.#bots.values()) {
      // A busy bot has newer lines; a silent one has nothing that is not saved already.
      const newest = seqs[(next - 1 + LINES) % LINES] as number;
      if ((seqs[next] as number) >= to || newest < from) continue;
      // Saves the oldest first, because lines are dropped in this order.
      for (let n = 0; n < LINES; n++) {
        const seq = seqs[(next + n) % LINES] as number;
        if (seq >= to) break;
        if (seq >= from) this.#keep(seq, shownLine(this.#frames.text(seq)));
      }
    }
  }

  /** The last lines of these bots together, at most LINES, oldest first. */
  of(bots: readonly string[]): LastLine[] {
    const found = new Set<number>();
    let least = 0;
    for (const id of bots) {
      const recent = this.#bots.get(id);
      if (!recent) continue;
      for (let n = 1; n <= LINES; n++) {
        const seq = recent.seqs[(recent.next - n + LINES) % LINES] as number;
        if (seq <= least) break;
        found.add(seq);
        if (found.size <= LINES) continue;
        found.delete(Math.min(...found));
        least = Math.min(...found);
      }
    }
    const { oldest } = this.#frames;
    return [...found]
      .sort((a, b) => a - b)
      .flatMap((seq) =>
        seq < oldest ? (this.#saved.get(seq) ?? []) : shownLine(this.#frames.text(seq)),
      );
  }

  #keep(seq: number, line: LastLine): void {
    this.#saved.set(seq, line);
    this.#savedUnits += line.text.length;
    for (const first of this.#saved.keys()) {
      if (this.#savedUnits <= this.#maxSavedUnits) return;
      this.#forget(first);
    }
  }

  #forget(seq: number): void {
    this.#savedUnits -= this.#saved.get(seq)?.text.length ?? 0;
    this.#saved.delete(seq);
  }
}

function shownLine(frame: string): LastLine {
  const event = JSON.parse(frameData(frame)) as LogEvent;
  const line = `${event.level} ${event.session_id} ${event.scope}: ${event.message}`;
  const at = event.timestamp_ms;
  if (line.length <= MAX_LINE_UNITS) return { at, text: line };
  return { at, text: copyOfText(`${line.slice(0, MAX_LINE_UNITS - 1)}…`) };
}
