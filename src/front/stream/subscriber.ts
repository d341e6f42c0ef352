import type { StreamSink } from '../engine/engine.js';
import type { InitialState } from './initial-state.js';
import type { SnapshotChoice } from './snapshot-choice.js';
import type { SubscriberGroup } from './subscriber-group.js';

/** How a stream starts, or continues after a loss. */
export interface SubscribeStart {
  /** Sent before everything else. */
  opening: string;
  /** Declared with a `gap`: id of the first lost event, and its number, null when that is not known. */
  loss: { from: string; first: number | null } | null;
  snapshots: boolean;
  /** Sequence number to continue from, if that is not where the snapshots are from: the stream is replaying. */
  at?: number;
  /** Its query needs more than a slice for the snapshots, and what it has chosen. */
  isSlow?: boolean;
  choice?: SnapshotChoice;
}

/** State of one stream. The fan-out, or the replays while the stream is behind the ring, move its cursor. */
export class Subscriber {
  readonly sink: StreamSink;
  readonly group: SubscriberGroup;
  /** Called when it has left the fan-out. */
  readonly removed: () => void;
  /** Its client asked for the stream of this node, not for the default. */
  readonly isOwn: boolean;
  /** The last announcement that it has got. */
  notice: Uint8Array | undefined;
  /** Index in the fan-out's list, -1 after it has left. */
  index = -1;
  #cursor = 0;
  #isParked = false;
  /** Becomes {@link initialState} as soon as the snapshots are current. */
  start: SubscribeStart | undefined;
  /** What it gets before that frame. */
  initialState: InitialState | undefined;
  /** It came with an id and gets everything after it: what has left the ring comes from the journal. */
  resumes = false;
  /** When it stopped taking bytes, by performance.now(); 0 while it takes them. */
  blockedAt = 0;
  /** When it was last written to, by performance.now(). */
  writtenAt = 0;
  /** How many steps its writes are larger than at first. */
  writeLevel = 0;
  /** Bytes that it has accepted since it was last blocked. */
  accepted = 0;
  /** The write at which it blocked: what the socket did not accept of it is in the process. Undefined while it takes bytes. */
  held: Uint8Array | undefined;

  constructor(sink: StreamSink, group: SubscriberGroup, removed: () => void, isOwn = false) {
    this.sink = sink;
    this.group = group;
    this.removed = removed;
    this.isOwn = isOwn;
  }

  /** Sequence number of the next frame that it gets, or of one before it which its filter does not let through. */
  get cursor(): number {
    // What the index has examined since then had nothing for it.
    return this.#isParked ? this.group.examined : this.#cursor;
  }

  set cursor(seq: number) {
    this.#cursor = seq;
  }

  /** Passes leave it out, because it has everything that the index of its group has examined. */
  get isParked(): boolean {
    return this.#isParked;
  }

  set isParked(isParked: boolean) {
    this.#cursor = this.cursor;
    this.#isParked = isParked;
  }

  /** Its initial state is sent, so its client's last event id matches the cursor. */
  get isLive(): boolean {
    return this.start === undefined && this.initialState === undefined;
  }
}
