// Runs in the bus thread. Keeps the table of places: learns from the stream where the node's own blocks are, also of those that came
// while this node did not read.

import { Deferred } from '../../shared/deferred.js';
import { eventId, KIND_CODE } from '../../shared/stream/frame.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { ReadBlock } from './block.js';
import { PLACES_FILE, PositionFile } from './position-file.js';
import { PositionMap } from './position-map.js';
import type { Run } from './runs.js';

/** New places are written after this, in ms: those that a crash loses are found on the stream again. */
const WRITE_MS = 5000;
/** Of the writes, each so-many-th removes what the journal has removed. */
const PRUNE_EVERY = 12;
/** Blocks that wait while older ones are looked for. When there are more, those are given up: their events keep their own ids. */
const MAX_WAITING = 10_000;

export interface OwnPositionsParts {
  dir: string;
  /** Epoch of the node's own stream. */
  ownEpoch: string;
  node: string;
  /** The next message of this node's subject, from a sequence on; null when there is none. */
  nextOwn: (seq: number) => Promise<{ seq: number; block: ReadBlock } | null>;
  /** Number of the first frame of a message; null when nobody can tell any more. */
  firstOf: (seq: number) => Promise<number | null>;
  /** The first own frame that the journal has; null when that is not known. */
  oldest: () => Promise<number | null>;
  /** Tells the operator. */
  say: (line: string) => void;
}

/** One search for older own blocks. */
interface CatchUp {
  /** Messages up to this one are looked at. */
  end: number;
  /** Own blocks that came meanwhile. */
  waiting: { seq: number; runs: Run[] }[];
}

export class OwnPositions {
  readonly places: PositionMap;
  readonly #parts: OwnPositionsParts;
  #epoch = '';
  /** The runs of all messages up to this one are known. */
  #seq = 0;
  /** null while nothing is looked for. */
  #catchUp: CatchUp | null = null;
  #known = new Deferred();
  #timer: NodeJS.Timeout | undefined;
  #writes = 0;
  /** The operator knows that the disk takes no writes. */
  #isSaid = false;

  constructor(parts: OwnPositionsParts) {
    this.#parts = parts;
    this.places = new PositionMap(new PositionFile(parts.dir, parts.ownEpoch));
    this.#known.resolve();
  }

  /** Resolves with false when it is not known in time where all own frames are. */
  known(withinMs: number): Promise<boolean> {
    const isKnown = this.#known.promise.then(() => true);
    return withTimeout(isKnown, withinMs, () => false);
  }

  /** The messages after `seq` of the stream come from now on. */
  joined(epoch: string, seq: number): void {
    if (this.#epoch !== epoch) {
      // What waits is numbered as the other stream was.
      if (this.#catchUp) this.#catchUp.waiting = [];
      this.#endCatchUp();
      this.#epoch = epoch;
      this.#seq = this.places.seq(epoch);
    }
    if (this.#catchUp) this.#catchUp.end = Math.max(this.#catchUp.end, seq);
    if (this.#catchUp || this.#seq >= seq) return;
    this.#catchUp = { end: seq, waiting: [] };
    this.#known = new Deferred();
    void this.#lookFor(this.#catchUp);
  }

  /** A message was read. @param first number of its first frame. */
  saw(block: ReadBlock, first: number, seq: number): void {
    const runs = this.#runsOf(block, first);
    if (!this.#catchUp) {
      this.#add(seq, runs);
      return;
    }
    const { waiting } = this.#catchUp;
    if (runs.length > 0) waiting.push({ seq, runs });
    if (waiting.length > MAX_WAITING) this.#endCatchUp();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.places.flush();
  }

  async #lookFor(catchUp: CatchUp): Promise<void> {
    const { nextOwn, firstOf } = this.#parts;
    try {
      while (this.#catchUp === catchUp && this.#seq < catchUp.end) {
        const message = await nextOwn(this.#seq + 1);
        if (!message || message.seq > catchUp.end) break;
        const first = await firstOf(message.seq);
        // Another one has begun, on another stream perhaps.
        if (this.#catchUp !== catchUp) return;
        this.#add(message.seq, first === null ? [] : this.#runsOf(message.block, first));
      }
    } catch {
      // NATS is away. What is missing keeps its own ids.
    }
    if (this.#catchUp === catchUp) this.#endCatchUp();
  }

  #endCatchUp(): void {
    const { waiting } = this.#catchUp ?? { waiting: [] };
    this.#catchUp = null;
    for (const { seq, runs } of waiting) this.#add(seq, runs);
    this.#known.resolve();
  }

  #add(seq: number, runs: readonly Run[]): void {
    this.#seq = Math.max(this.#seq, seq);
    for (const run of runs) this.places.add(this.#epoch, seq, run);
    if (runs.length > 0) this.#writeLater();
  }

  #writeLater(): void {
    this.#timer ??= setTimeout(() => this.#write(), WRITE_MS).unref();
  }

  /** Once when the disk takes no writes, and once when it does again. */
  #tell(): void {
    const { fault } = this.places;
    if ((fault !== null) === this.#isSaid) return;
    this.#isSaid = fault !== null;
    const what = `the file ${PLACES_FILE}, where this node's events are in the stream of the cluster`;
    this.#parts.say(
      fault === null
        ? `${what}, is written again`
        : `${what}, cannot be written, and is kept in memory until there is room: ${fault}`,
    );
  }

  #write(): void {
    this.#timer = undefined;
    const isWritten = this.places.flush();
    this.#tell();
    // What is new waits for room, also when nothing else comes.
    if (!isWritten) this.#writeLater();
    this.#writes += 1;
    if (this.#writes % PRUNE_EVERY === 0) void this.#prune();
  }

  async #prune(): Promise<void> {
    const oldest = await this.#parts.oldest().catch(() => null);
    if (oldest !== null) this.places.prune(oldest);
  }

  /** The frames of the node's own stream in a block. A gap that stands for frames that were left out is none of them. */
  #runsOf(block: ReadBlock, first: number): Run[] {
    const { node, ownEpoch } = this.#parts;
    const { head } = block;
    if (head.node !== node || head.type !== 'frames' || head.epoch !== ownEpoch) return [];
    const runs: Run[] = [];
    let start = 0;
    const end = (at: number): void => {
      if (at > start)
        runs.push({ own: head.first + start, number: first + start, count: at - start });
      start = at + 1;
    };
    for (let at = 0; at < head.count; at++) {
      if (block.kind(at) !== KIND_CODE.gap) continue;
      const { json = '' } = block.frames[at] ?? {};
      if (endsAt(json, eventId(ownEpoch, head.first + at))) end(at);
    }
    end(head.count);
    return runs;
  }
}

/** Whether a gap declares frames up to this id. */
function endsAt(json: string, id: string): boolean {
  return (JSON.parse(json) as { to: string }).to === id;
}
