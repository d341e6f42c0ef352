import type { Filter } from '../../shared/stream/filter.js';
import { snapshotFrame } from '../../shared/stream/stream-text.js';
import type { MirroredSession, SnapshotMirror } from '../bots/snapshot-mirror.js';
import { SnapshotChoice } from './snapshot-choice.js';

/** The bytes that a subscriber gets before its first frame: pieces of one write each, shared by many subscribers. */
export class InitialState {
  readonly #parts: readonly Uint8Array[];
  #at = 0;

  constructor(parts: readonly Uint8Array[]) {
    this.#parts = parts;
  }

  /** The next piece, undefined after the last. */
  next(): Uint8Array | undefined {
    return this.#parts[this.#at++];
  }
}

/** Snapshot frames of one filter. */
interface BuiltFrames {
  parts: readonly Uint8Array[];
  /** The last frame, which is not in the parts: it may get an id. '' if there is none. */
  last: string;
}

/** Snapshot frames, and where the stream continues after them. */
export interface SnapshotFramesAt extends BuiltFrames {
  /** Sequence number of the first frame after the snapshots. */
  next: number;
}

const NO_FRAMES: BuiltFrames = { parts: [], last: '' };

/** Runs in a front thread. Owns the snapshot frames for new streams, built once for all that start between two changes. */
export class SnapshotFrames {
  readonly #mirror: SnapshotMirror;
  readonly #maxWriteBytes: number;
  #version = -1;
  #all: BuiltFrames = NO_FRAMES;

  constructor(mirror: SnapshotMirror, maxWriteBytes: number) {
    this.#mirror = mirror;
    this.#maxWriteBytes = maxWriteBytes;
  }

  sync(): void {
    this.#mirror.sync();
  }

  /**
   * @param wanted false leaves the snapshots out and returns only the position.
   * @returns undefined while the mirror is stale; the fan-out is woken after its reset.
   */
  frames(filter: Filter | null, wanted: boolean): SnapshotFramesAt | undefined {
    if (!this.#mirror.sync()) return undefined;
    const { next } = this.#mirror;
    if (!wanted) return { ...NO_FRAMES, next };
    if (filter) return { ...build(this.#passing(filter), this.#maxWriteBytes), next };
    if (this.#version !== this.#mirror.version) {
      this.#all = build(this.#mirror.all(), this.#maxWriteBytes);
      this.#version = this.#mirror.version;
    }
    return { ...this.#all, next };
  }

  /** For a filter with a query: the choice among the snapshots of now; undefined while the mirror is stale. */
  choice(filter: Filter): SnapshotChoice | undefined {
    if (!this.#mirror.sync()) return undefined;
    return new SnapshotChoice(filter, [...this.#mirror.all()], this.#mirror.next);
  }

  /** The frames of a choice that is made. */
  chosen({ chosen, next }: SnapshotChoice): SnapshotFramesAt {
    return { ...build(chosen, this.#maxWriteBytes), next };
  }

  *#passing(filter: Filter): Generator<MirroredSession> {
    for (const session of this.#mirror.all()) {
      if (filter.matchesSnapshot(session.snapshot)) yield session;
    }
  }
}

function build(sessions: Iterable<MirroredSession>, maxWriteBytes: number): BuiltFrames {
  const parts: Uint8Array[] = [];
  let frames: string[] = [];
  let size = 0;
  for (const { eventJson } of sessions) {
    const frame = snapshotFrame(eventJson);
    const length = Buffer.byteLength(frame);
    if (size > 0 && size + length > maxWriteBytes) {
      parts.push(Buffer.from(frames.join('')));
      frames = [];
      size = 0;
    }
    frames.push(frame);
    size += length;
  }
  const last = frames.pop() ?? '';
  if (frames.length > 0) parts.push(Buffer.from(frames.join('')));
  return { parts, last };
}
