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

/** The next thing that a stream gets. */
export type SubscriberState =
  /** Its initial state, as soon as the snapshots are current. */
  | { readonly type: 'starting'; readonly start: SubscribeStart }
  | { readonly type: 'initial'; readonly parts: InitialState }
  /** Frames of the ring, from passes. */
  | { readonly type: 'live' }
  /** Nothing: it has everything that the index of its group has examined, and passes leave it out until there is more. */
  | { readonly type: 'parked' }
  /** Frames of the journal, from the replays. */
  | { readonly type: 'replaying' }
  /** It has left the fan-out. */
  | { readonly type: 'left' };

export const LIVE: SubscriberState = { type: 'live' };
const PARKED: SubscriberState = { type: 'parked' };
export const REPLAYING: SubscriberState = { type: 'replaying' };
export const LEFT: SubscriberState = { type: 'left' };

/** One stream. The fan-out, or the replays while the stream is behind the ring, move its cursor. */
export class Subscriber {
  readonly sink: StreamSink;
  readonly group: SubscriberGroup;
  /** Called when it has left the fan-out. */
  readonly removed: () => void;
  /** Whether its client asked for the stream of this node, not for the default. */
  readonly isOwn: boolean;
  /** The last announcement that was sent to it. */
  notice: Uint8Array | undefined;
  /** Its index in the list that it is in. */
  index = -1;
  state: SubscriberState = LIVE;
  #cursor = 0;
  /** Whether it came with an id and gets everything after it; frames that have left the ring come from the journal. */
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
    // A parked stream has passed all frames that the index has examined.
    return this.state === PARKED ? this.group.examined : this.#cursor;
  }

  set cursor(seq: number) {
    this.#cursor = seq;
  }

  get isParked(): boolean {
    return this.state === PARKED;
  }

  /** Its cursor is where the index is. */
  park(): void {
    this.state = PARKED;
  }

  unpark(): void {
    this.#cursor = this.cursor;
    this.state = LIVE;
  }

  get hasLeft(): boolean {
    return this.state === LEFT;
  }

  /** Its initial state is sent, so its client's last event id matches the cursor. */
  get hasStarted(): boolean {
    const { type } = this.state;
    return type !== 'starting' && type !== 'initial' && type !== 'left';
  }
}
