import type { ClusterStreamState } from '../../shared/contract/nodes.js';
import type { ClusterView } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import { clusterBlock, epochOf } from '../../shared/stream/stream-text.js';
import { OwnBots, type Snapshots } from '../bots/own-bots.js';
import { asksForSelf, type NodeQuery } from '../http/query-string.js';
import type { View } from './view.js';

/** `Retry-After` for a client that has to wait for the stream of the cluster, in s. */
const RETRY_S = 1;

/**
 * Runs in a front thread. Owns the streams that clients can see: the node's, and in a cluster that of the cluster, which is then
 * the one of requests that do not ask for `node=self`.
 */
export class Views {
  readonly self: View;
  readonly #clusterView: (cluster: ClusterView) => View;
  #cluster: View | undefined;
  /** The new view, which has no baseline yet. */
  #coming: View | undefined;
  #state: ClusterStreamState | undefined;

  /** @param clusterView makes a view on the stream of the cluster, without its channels. */
  constructor(self: View, clusterView: (cluster: ClusterView) => View) {
    this.self = self;
    this.#clusterView = clusterView;
  }

  /** The stream of requests that name no node. */
  get default(): View {
    return this.#cluster ?? this.self;
  }

  get cluster(): View | undefined {
    return this.#cluster;
  }

  /** Whether the node is in a cluster whose stream is not here yet. */
  get isWithoutCluster(): boolean {
    return this.#state !== undefined && this.#cluster === undefined;
  }

  /** The stream of the cluster is there, and this node reaches the cluster as far as is known. */
  get isCurrent(): boolean {
    return this.#cluster !== undefined && (this.#state === undefined || this.#state.state === 'on');
  }

  /**
   * The stream that a query asks for. Other names than `self` are a filter of the stream of the cluster.
   * @throws DroverError `bad_request` when it asks for `self` and others.
   */
  of(query: NodeQuery): View {
    return asksForSelf(query) ? this.self : this.default;
  }

  /**
   * The stream of a client that continues after `lastEventId`, an empty text for none.
   * @throws DroverError like {@link of}; `unavailable` while the stream of the cluster is not there: to a client that was on it, the
   *   node's own stream would be a gap, and so is the way back. Other clients get it when the node cannot join.
   */
  ofClient(query: NodeQuery, lastEventId: string): View {
    const view = this.of(query);
    const state = this.#state;
    if (view !== this.self || asksForSelf(query) || !state) return view;
    const epoch = epochOf(lastEventId);
    const wasElsewhere = epoch !== null && epoch !== view.epoch;
    // Once it is `on` the stream is on its way to this front.
    const isStarting = state.state !== 'cut_off' && state.reason === null;
    if (!wasElsewhere && !isStarting) return view;
    const reason = state.reason ?? 'it is connecting';
    const what = 'the stream of the cluster is not there yet, and ?node=self is that of this node';
    throw new DroverError('unavailable', `${what}: ${reason}`, RETRY_S);
  }

  /** Calls `task` with the bots as a view shows them, when all that is published is among them. */
  whenCurrent(
    view: View,
    task: (snapshots: Snapshots) => void | Promise<void>,
  ): void | Promise<void> {
    const { mirror } = view;
    if (view === this.self || this.isCurrent) return mirror.whenCurrent(() => task(mirror));
    // While it is cut off, this node's events are not on the stream of the cluster.
    const own = this.self.mirror;
    return own.whenCurrent(() => mirror.whenCurrent(() => task(new OwnBots(mirror, own))));
  }

  /** Resolves when the stream of the cluster is the default. Another one that comes meanwhile takes its place. */
  async attachCluster(cluster: ClusterView): Promise<void> {
    this.#coming?.close();
    const view = this.#clusterView(cluster);
    this.#coming = view;
    await view.attach(cluster.broadcaster, cluster.history);
    if (view.isClosed) return;
    this.#coming = undefined;
    this.#replace(view);
  }

  detachCluster(): void {
    this.#coming?.close();
    this.#coming = undefined;
    if (this.#cluster) this.#replace(undefined);
  }

  /** Tells all streams how this node stands in the cluster, unless they already know. */
  tellState(state: ClusterStreamState): void {
    const before = this.#state;
    if (before?.state === state.state && before.reason === state.reason) return;
    this.#state = state;
    this.#announce(this.self, state);
    if (this.#cluster) this.#announce(this.#cluster, state);
  }

  /** Ends every stream: one of the node once it has had the frames below `head`, one of the cluster where the ring ends now. */
  async finish(head: number, withinMs: number): Promise<void> {
    const { fanout, reader } = this.default;
    await Promise.all([
      this.self.fanout.finish(head, withinMs),
      this.#cluster && fanout.finish(reader.head(), withinMs),
    ]);
  }

  /** Stops the timers that keep the thread alive. */
  stop(): void {
    this.#coming?.stop();
    this.#cluster?.stop();
    this.self.stop();
  }

  /** New streams are told too, unless all is well. */
  #announce({ fanout }: View, state: ClusterStreamState): void {
    fanout.announce(clusterBlock(state), state.state === 'on');
  }

  #replace(view: View | undefined): void {
    const before = this.#cluster;
    this.#cluster = view;
    // Their clients reconnect, and get the new default.
    if (before) before.close();
    else this.self.fanout.endDefault();
    if (view && this.#state) this.#announce(view, this.#state);
  }
}
