import type { Bus, BusOptions } from '../../cluster/node-service.js';
// Runs in main. Owns the bus thread of a cluster, and its channels.

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type {
  BusMember,
  BusStatus,
  ClusterBusEvents,
  ClusterBusMethods,
  ClusterBusStart,
} from '../../cluster/wire/bus-messages.js';
import type { Rpc } from '../../shared/contract/rpc.js';
import type { LoopEvents } from '../../shared/contract/slow-turn.js';
import type { BroadcasterPeer } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import { BusFigures, createBusFigures } from '../../shared/memory/bus-figures.js';
import { releaseReader } from '../../shared/memory/ring-reader.js';
import { WORKERS } from '../../shared/package-paths.js';
import type { EventSink } from './service-events.js';
import { doubledPauses, SupervisedThread, type Turning } from './supervised-thread.js';
import { startWorker } from './thread-source.js';

/** Longest pause before a lost thread is replaced, in ms. */
const MAX_RESTART_MS = 30_000;

export interface ClusterBusOptions
  extends Pick<BusOptions, 'ready' | 'lost' | 'changed' | 'fenced'> {
  start: Omit<ClusterBusStart, 'figures'>;
  /** A channel to the node's journal; undefined when there is none. */
  journal: (reader: number) => MessagePort | undefined;
  /** Called when the event loop of the bus was blocked. */
  slow: LoopEvents['slow'];
}

export class ClusterBusThread implements Bus {
  status: BusStatus = { state: 'joining', reason: null };
  readonly figures: BusFigures;
  readonly #options: ClusterBusOptions;
  readonly #broadcaster: EventSink;
  readonly #thread: SupervisedThread<ClusterBusEvents, ClusterBusMethods>;
  /** The bots whose unpublished frames count, while the node holds its lease. */
  #keep: string[] | null = null;
  #members: BusMember[] = [];

  constructor(options: ClusterBusOptions, broadcaster: EventSink) {
    this.#options = options;
    this.#broadcaster = broadcaster;
    const { start } = options;
    const figures = createBusFigures(start.first);
    this.figures = new BusFigures(figures, start.local.ring);
    this.#thread = new SupervisedThread<ClusterBusEvents, ClusterBusMethods>({
      source: () =>
        startWorker(WORKERS.clusterBus, { ...start, figures } satisfies ClusterBusStart),
      methods: {
        ready: ({ stream, isBlind }) => options.ready(stream, isBlind),
        changed: ({ status, notice }) => this.#changed(status, notice),
        fenced: () => options.fenced(),
        slow: options.slow,
      },
      lost: () => new DroverError('unavailable', 'the bus of the cluster was lost'),
      prepare: async (peer) => {
        this.#connect(peer, this.#broadcaster.peer);
        this.#attachJournal(peer);
        peer.tell('members', { members: this.#members });
        if (this.#keep) peer.tell('publish', { keep: this.#keep });
      },
      exited: ({ reason, isExpected }) => {
        releaseReader(start.local.ring, start.reader);
        if (isExpected) return;
        this.#changed(
          { state: 'cut_off', reason: `the bus of the cluster was lost: ${reason}` },
          null,
        );
        options.lost(reason);
      },
      restart: doubledPauses(MAX_RESTART_MS),
    });
    void this.#thread.start();
  }

  get peer(): Rpc<ClusterBusEvents, ClusterBusMethods> {
    return this.#thread.peer;
  }

  /** For the watch over its loop. */
  get turning(): Turning {
    return this.#thread;
  }

  /** Channels for a front; undefined when there is no bus thread now. */
  attachFront(front: number): { stream: MessagePort; history: MessagePort } | undefined {
    if (!this.#thread.isAlive) return undefined;
    const stream = new MessageChannel();
    const history = new MessageChannel();
    const ports = { stream: stream.port1, history: history.port1 };
    this.#thread.peer.tell('attachFront', { front, ...ports }, [stream.port1, history.port1]);
    return { stream: stream.port2, history: history.port2 };
  }

  /** Gives another reader of the ring, such as the rules, its channel (BroadcasterFrontMethods). */
  attachReader(front: number, port: MessagePort): void {
    if (this.#thread.isAlive)
      this.#thread.peer.tell('attachFront', { front, stream: port }, [port]);
  }

  detachFront(front: number): void {
    if (this.#thread.isAlive) this.#thread.peer.tell('detachFront', { front });
  }

  /** Connects it to a new broadcaster. */
  reattach(broadcaster: BroadcasterPeer): void {
    if (this.#thread.isAlive) this.#connect(this.#thread.peer, broadcaster);
  }

  /** The journal's thread was replaced. */
  reattachJournal(): void {
    if (this.#thread.isAlive) this.#attachJournal(this.#thread.peer);
  }

  /** The node holds its lease. @param keep its bots. */
  publish(keep: string[]): void {
    this.#keep = keep;
    if (this.#thread.isAlive) this.#thread.peer.tell('publish', { keep });
  }

  /** The node has lost its lease. */
  hold(): void {
    this.#keep = null;
    if (this.#thread.isAlive) this.#thread.peer.tell('hold', null);
  }

  /** The nodes of the cluster: their journals are asked about the past. */
  set members(members: BusMember[]) {
    this.#members = members;
    if (this.#thread.isAlive) this.#thread.peer.tell('members', { members });
  }

  async close(withinMs: number): Promise<void> {
    await this.#thread.stop((peer) => peer.tell('close', { withinMs }), withinMs + 500);
  }

  #connect(peer: Rpc<ClusterBusEvents, ClusterBusMethods>, broadcaster: BroadcasterPeer): void {
    const { port1, port2 } = new MessageChannel();
    const { reader } = this.#options.start;
    broadcaster.tell('attachFront', { front: reader, port: port1 }, [port1]);
    peer.tell('attachBroadcaster', { port: port2 }, [port2]);
  }

  #attachJournal(peer: Rpc<ClusterBusEvents, ClusterBusMethods>): void {
    const port = this.#options.journal(this.#options.start.reader);
    if (port) peer.tell('attachJournal', { port }, [port]);
    else peer.tell('attachJournal', { port: null });
  }

  #changed(status: BusStatus, notice: string | null): void {
    this.status = status;
    this.#options.changed(status, notice);
  }
}
