// Runs in a front thread. Owns the state of one stream.

import type { StreamSink } from './engine/engine.js';
import type { InitialState } from './initial-state.js';
import type { SubscriberGroup } from './subscriber-group.js';

/** How a stream begins, or goes on after a loss. */
export interface SubscribeStart {
  /** Sent before everything else. */
  opening: string;
  /** What is to be declared: id of the first lost event, and its number, null when that is not known. */
  loss: { from: string; first: number | null } | null;
  snapshots: boolean;
  /** Where it then goes on, when that is not where the snapshots are from: in the past. */
  at?: number;
}

export class Subscriber {
  readonly sink: StreamSink;
  readonly group: SubscriberGroup;
  /** To be called when it has left the fan-out. */
  readonly removed: () => void;
  /** Place in the fan-out's list, -1 when it is not there any more. */
  index: number;
  /** Sequence number of the next frame that it gets. */
  cursor = 0;
  /** To be made into its prelude as soon as the snapshots are current. */
  beginning: SubscribeStart | undefined;
  /** What it gets before that frame. */
  prelude: InitialState | undefined;
  /** It came with an id, to have everything from there on: what the ring laps it gets from the journal. */
  resumes = false;
  /** When it stopped taking bytes, by performance.now(); 0 while it takes them. */
  blockedAt = 0;
  /** When it was last written to, by performance.now(). */
  writtenAt = 0;

  constructor(sink: StreamSink, group: SubscriberGroup, index: number, removed: () => void) {
    this.sink = sink;
    this.group = group;
    this.index = index;
    this.removed = removed;
  }

  /** It has had its beginning, and its client's last event id is its cursor's. */
  get isLive(): boolean {
    return this.beginning === undefined && this.prelude === undefined;
  }
}
