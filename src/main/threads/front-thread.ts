import type { FrontCluster } from '../../cluster/node-service.js';
// Runs in main. Owns one front thread and its connections. A front that breaks closes its own sockets and exits. It is never
// terminated: that would abort the process while sockets are open.

import type { EventLoopUtilization } from 'node:perf_hooks';
import { MessageChannel } from 'node:worker_threads';
import { authorityOf } from '../../shared/contract/addresses.js';
import type { ClusterStreamState } from '../../shared/contract/nodes.js';
import type { Rpc, Serves } from '../../shared/contract/rpc.js';
import type {
  Bound,
  BroadcasterPeer,
  ControlMethods,
  FrontMethods,
  FrontStart,
} from '../../shared/contract/threads.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError, messageOf, StartupError } from '../../shared/errors.js';
import { WORKERS } from '../../shared/package-paths.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { TlsSnapshot } from '../environment/tls-snapshot.js';
import type { JournalThread } from './journal-thread.js';
import type { EventSink } from './service-events.js';
import { SupervisedThread, type Turning } from './supervised-thread.js';
import { startWorker } from './thread-source.js';

/** Pause between two attempts to replace a front, in ms. The first attempt is made at once. */
const RESTART_MS = 1000;
/** How long a new front waits for the stream of the cluster before it listens, in ms. It may come later too. */
const CLUSTER_MS = 5000;

export type FrontPeer = Rpc<ControlMethods, FrontMethods>;

export interface FrontThreadOptions {
  front: number;
  /** Start data of a front that starts now. */
  startData: () => FrontStart;
  /** The certificate and key that a front is to use now. */
  tls: () => TlsSnapshot;
  /** Where to listen. `isShared` lets other fronts listen there too. */
  address: () => { host: string; port: number; isShared: boolean };
  broadcaster: EventSink;
  journal: JournalThread;
  /** The stream of the cluster, if there is one now. */
  cluster: () => FrontCluster | undefined;
  /** The state of the cluster's stream, if it is known. */
  clusterState: () => ClusterStreamState | undefined;
  control: Serves<ControlMethods>;
  /** Frees what a front that has exited held in shared memory. */
  exited: () => void;
  /** Puts a line about the front on the stream. */
  report: (message: string) => void;
}

export class FrontThread {
  /** The certificate and key that the present thread uses. */
  tls: TlsSnapshot;
  readonly #options: FrontThreadOptions;
  readonly #thread: SupervisedThread<ControlMethods, FrontMethods>;
  #started = new Deferred();
  #bound: Bound | undefined;
  #isClosing = false;

  /** @param startThread other than startWorker for tests. */
  constructor(options: FrontThreadOptions, startThread = startWorker) {
    this.#options = options;
    const { front, report } = options;
    this.tls = options.tls();
    this.#thread = new SupervisedThread<ControlMethods, FrontMethods>({
      source: () => {
        this.tls = options.tls();
        this.#started = new Deferred();
        return startThread(WORKERS.front, options.startData());
      },
      methods: options.control,
      lost: (reason, error) =>
        error
          ? new DroverError('internal', this.tls.named(reason))
          : new DroverError('unavailable', `front ${front} has ended`),
      prepare: (peer, replaces) => this.#listen(peer, replaces !== undefined),
      exited: () => {
        options.exited();
        options.broadcaster.peer.tell('detachFront', { front });
        options.journal.detachFront(front);
        options.cluster()?.detach(front);
        this.#started.resolve();
      },
      notReady: (peer, { reason, isRepeated }) => {
        // The operator may repair what prevents a start (a port, a certificate), so it is tried again.
        if (!isRepeated) {
          report(`front ${front} could not be restarted: ${this.tls.named(reason)}`);
        }
        peer.tell('close', { head: 0, withinMs: 0 });
      },
      restart: { pauseMs: (failures) => (failures === 0 ? 0 : RESTART_MS), healthyMs: 0 },
    });
  }

  /** @throws StartupError when the port cannot be bound or the engine does not run here. */
  async start(): Promise<Bound> {
    try {
      await this.#thread.start();
    } catch (thrown) {
      throw thrown instanceof StartupError ? thrown : new StartupError(messageOf(thrown));
    }
    return this.#bound as Bound;
  }

  /** Undefined between a loss and the start of the next thread. */
  get peer(): FrontPeer | undefined {
    return this.#thread.isAlive ? this.#thread.peer : undefined;
  }

  /** Resolves when the present thread listens, or cannot. */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  /** For the watch over its loop. */
  get turning(): Turning {
    return this.#thread;
  }

  utilization(): EventLoopUtilization | undefined {
    return this.#thread.utilization();
  }

  /** Gives every stream the frames below `head`, for at most `withinMs`. Resolves when the thread has exited. */
  async close(head: number, withinMs: number): Promise<void> {
    this.#isClosing = true;
    await this.#thread.stop((peer) => peer.tell('close', { head, withinMs }));
  }

  /** Gives it a channel to a new broadcaster. */
  async reattach(broadcaster: BroadcasterPeer): Promise<void> {
    // One that exits meanwhile needs none; its replacement attaches itself.
    if (this.peer) await this.#attach(this.peer, broadcaster).catch(() => {});
  }

  /** Gives it a channel to a new journal thread. */
  reattachJournal(): void {
    if (this.peer) this.#attachJournal(this.peer);
  }

  /** Gives it the present stream of the cluster. */
  async reattachCluster(): Promise<void> {
    // One that exits meanwhile needs none; its replacement attaches itself.
    if (this.peer) await this.#attachCluster(this.peer).catch(() => {});
  }

  async #listen(peer: FrontPeer, isReplacement: boolean): Promise<void> {
    const { front, broadcaster, address, report } = this.#options;
    this.#attachJournal(peer);
    // A broadcaster that is not restored yet knows no bots. Its restore attaches all fronts that exist by then.
    await this.#attach(peer, await broadcaster.ready);
    // Without this wait the first clients would get the node's own stream and have to reconnect soon.
    await withTimeout(this.#attachCluster(peer), CLUSTER_MS, () => {});
    if (this.#isClosing) throw new DroverError('unavailable');
    const { host, port, isShared } = address();
    // The first front checks that nobody else has the port: a shared port would hide another process that shares it too.
    const probe = front === 0 && !isReplacement;
    this.#bound = await peer
      .call('listen', { port, shared: isShared, probe })
      .catch((thrown: unknown) => {
        const reason = messageOf(thrown);
        throw new StartupError(
          `cannot listen on ${authorityOf(host, port)}: ${reason}; give another with --port or --host`,
        );
      });
    this.#started.resolve();
    if (isReplacement) report(`front ${front} was replaced`);
  }

  async #attach(peer: FrontPeer, broadcaster: BroadcasterPeer): Promise<void> {
    // The front keeps the last channel that it gets, which must not lead to a broadcaster that was lost meanwhile.
    if (broadcaster !== this.#options.broadcaster.peer) return;
    const { port1, port2 } = new MessageChannel();
    const { front } = this.#options;
    broadcaster.tell('attachFront', { front, port: port1 }, [port1]);
    await peer.call('attachBroadcaster', { port: port2 }, [port2]);
  }

  async #attachCluster(peer: FrontPeer): Promise<void> {
    const state = this.#options.clusterState();
    if (state) peer.tell('clusterState', state);
    const cluster = this.#options.cluster();
    if (!cluster) return;
    const { stream } = cluster;
    const { broadcaster, history } = cluster.connect(this.#options.front);
    const input = { stream, broadcaster, history };
    await peer.call('attachCluster', input, [broadcaster, history]);
  }

  #attachJournal(peer: FrontPeer): void {
    const port = this.#options.journal.attachFront(this.#options.front);
    if (port) peer.tell('attachJournal', { port }, [port]);
  }
}
