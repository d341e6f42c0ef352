// The messages between main and the bus thread of a cluster (workers/cluster-bus.ts). rpc.ts carries them.

import type { MessagePort } from 'node:worker_threads';
import type { Config } from '../../shared/contract/config.js';
import type { BotSnapshot } from '../../shared/contract/events.js';
import type { LoopEvents } from '../../shared/contract/slow-turn.js';
import type { StreamIdentity } from '../../shared/contract/threads.js';
import type { SharedLag } from '../../shared/memory/loop-lag.js';
import type { SignerKeys } from './signer.js';

/** `cluster` of the configuration of a node that is in a cluster. */
export type ClusterConfig = Config['cluster'] & { node: string };

export interface ClusterBusStart {
  config: ClusterConfig;
  signer: SignerKeys;
  /** Random; another one for each start of the service. */
  incarnation: string;
  /** The node's own stream: its frames are what is published. */
  local: StreamIdentity;
  /** Number of its cells on that ring. */
  reader: number;
  /** First sequence number of this run in the node's own stream. A node that is new to the cluster publishes from there. */
  first: number;
  /** Readers of the ring of the cluster's stream: the fronts, and the rules. */
  fronts: number;
  /** Bytes of that ring. */
  ringBytes: number;
  /** Where it may keep files; exists. */
  dir: string;
  /** `journal.enabled`. */
  hasJournal: boolean;
  /** Of createBusFigures(). */
  figures: SharedArrayBuffer;
  lag: SharedLag;
}

/** A node of the cluster, as main sees it. */
export interface BusMember {
  node: string;
  /** Its lease has not run out, as far as this node knows. */
  isLive: boolean;
  /** When it renewed its lease last, by its own clock, in Unix epoch ms. */
  seenMs: number;
}

/** How the bus stands. Part of `GET /api/pressure`, with the figures of shared/memory/bus-figures.ts. */
export interface BusStatus {
  /** `joining`: it does not know the stream yet. `on`. `cut_off`: NATS does not answer, or refuses. */
  state: 'joining' | 'on' | 'cut_off';
  /** Why it is not on, in one line. */
  reason: string | null;
}

/** What the record of a bot says of it. */
export type LostBot = Pick<
  BotSnapshot,
  'id' | 'kind' | 'desired' | 'labels' | 'node' | 'term' | 'failover'
>;

/** What main asks of the bus. */
export type ClusterBusMethods = {
  /** The channel to the node's own broadcaster: its baseline and its doorbell. A new one replaces the old. */
  attachBroadcaster(input: { port: MessagePort }): void;
  /** The channel to the node's own journal. A new one replaces the old; null when there is none. */
  attachJournal(input: { port: MessagePort | null }): void;
  /**
   * Gives a front its channels: `stream` as to a broadcaster, `history` as to a journal (JournalFrontMethods). Rules ask for no history.
   */
  attachFront(input: { front: number; stream: MessagePort; history?: MessagePort }): void;
  detachFront(input: { front: number }): void;
  /**
   * The node holds its lease: from now on its frames are published. Of the frames that exist already and are not published, those of
   * bots that are not in `keep` are left out, and declared by a gap: the bots have another term by now.
   */
  publish(input: { keep: string[] }): void;
  /** The node has lost its lease: nothing is published until the next {@link publish}. */
  hold(input: null): void;
  /**
   * The lease of a node has run out: nothing that it publishes from now on is accepted. Its bots become `lost` on the stream, with their
   * last snapshots where there are any: a cluster that was stopped as a whole has none. Answers when that is on the stream, with the other bots that the node has, as it has said: those of `deleted` are not among them any more. To be called by the leader, after the node's lease was ended.
   */
  fence(input: { node: string; of: string | null; bots: LostBot[]; deleted: string[] }): {
    others: string[];
  };
  /** JSON of `session` events of the bots that this node has, as the stream says, each as if it had been deleted now. */
  deletedHere(input: null): { sessions: string[] };
  /** Whether every frame that this node had until now is on the stream, after waiting up to `withinMs`; and that it was the last. */
  flush(input: { withinMs: number; isLast: boolean }): { isPublished: boolean };
  /** Whether everything that the stream has now is on this node's ring, after waiting up to `withinMs`. */
  readAll(input: { withinMs: number }): { isRead: boolean };
  /** The nodes of the cluster: their journals are asked about the past. */
  members(input: { members: BusMember[] }): void;
  /** Publishes what is left, for at most `withinMs`, and ends the thread. */
  close(input: { withinMs: number }): void;
};

/** What the bus tells main. */
export type ClusterBusEvents = LoopEvents & {
  /** There is a (new) ring: fronts get it, and their channels. Streams on an old one end. `isBlind`: no other node could tell which bots there are. */
  ready(input: { stream: StreamIdentity; isBlind: boolean }): void;
  /** Its status has changed. `notice` is a line for the operator. */
  changed(input: { status: BusStatus; notice: string | null }): void;
  /** Another node has ended this node's place in the stream: its lease has run out. */
  fenced(input: null): void;
};
