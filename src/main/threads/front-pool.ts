// Runs in main. Owns the fronts: starts them on one port, and tells all of them what changes.

import type { EventLoopUtilization } from 'node:perf_hooks';
import type { FrontCluster } from '../../cluster/node-service.js';
import type { Config } from '../../shared/contract/config.js';
import { Networks } from '../../shared/contract/networks.js';
import type { ClusterStreamState } from '../../shared/contract/nodes.js';
import type { Shortage } from '../../shared/contract/pressure.js';
import type { Serves } from '../../shared/contract/rpc.js';
import type { FrontBlock, SlowTurn } from '../../shared/contract/slow-turn.js';
import type {
  Bound,
  BroadcasterPeer,
  ControlMethods,
  FrontStart,
} from '../../shared/contract/threads.js';
import type { TokenRecord } from '../../shared/contract/tokens.js';
import { messageOf } from '../../shared/errors.js';
import { clearQuota, Quota } from '../../shared/memory/quota.js';
import { releaseReader } from '../../shared/memory/ring-reader.js';
import { changeTls, type TlsUser } from '../environment/tls-change.js';
import { TlsSnapshot } from '../environment/tls-snapshot.js';
import { ConnectionCensus } from './connection-census.js';
import { type FrontPeer, FrontThread } from './front-thread.js';
import type { JournalThread } from './journal-thread.js';
import type { EventSink } from './service-events.js';
import type { Turning } from './supervised-thread.js';
import type { ThreadCounts } from './thread-counts.js';

/** What every front starts with, except its number. */
type FrontCommon = Omit<FrontStart, 'front' | 'pin' | 'tokens' | 'shortage' | 'counts' | 'lags'>;

export interface FrontPoolParts {
  common: FrontCommon;
  counts: ThreadCounts;
  broadcaster: EventSink;
  journal: JournalThread;
  /** Puts a line about a broken front on the stream. */
  report: (message: string) => void;
  /** The loop of a front was blocked. */
  slow: (thread: string, turn: SlowTurn) => void;
}

/** What clients may ask for, and who they are. */
export interface FrontService {
  control: Omit<Serves<ControlMethods>, 'failed' | 'slow'>;
  /** Null when it is switched off. */
  pin: string | null;
  tokens: {
    /** Those that are valid now. A front is told about every change after its start. */
    all(): TokenRecord[];
  };
}

export class FrontPool {
  readonly #parts: FrontPoolParts;
  readonly #fronts: FrontThread[] = [];
  #port: number;
  #closing = false;
  #shortage: Shortage | null = null;
  #census: ConnectionCensus | undefined;
  #cluster: FrontCluster | undefined;
  #clusterState: ClusterStreamState | undefined;
  /** The certificate and key that every front is to use. */
  #tls: TlsSnapshot;

  constructor(parts: FrontPoolParts) {
    const { config } = parts.common;
    this.#parts = parts;
    this.#port = config.http.port;
    this.#tls = new TlsSnapshot(config.tls);
    parts.journal.onReplaced(() => {
      for (const front of this.#fronts) front.reattachJournal();
    });
  }

  /**
   * Starts the first front. It serves clients when this resolves.
   * @throws StartupError when the port cannot be bound or the engine does not run here.
   */
  async start(service: FrontService): Promise<Bound> {
    const { max_header_bytes } = this.#parts.common.config.http;
    // uWebSockets.js reads the limit from the environment of the process when its binary is loaded. That of a thread is a copy.
    process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(max_header_bytes);
    const bound = await this.#add(0, service).start();
    this.#port = bound.port;
    if (bound.wantsCensus) this.#takeCensus();
    return bound;
  }

  /** Starts the others on the port of the first. @throws StartupError like start. */
  async startOthers(service: FrontService): Promise<void> {
    const { fronts } = this.#parts.common.config.http;
    for (let front = 1; front < fronts && !this.#closing; front++) {
      await this.#add(front, service).start();
    }
  }

  /**
   * Makes all fronts use what the files of certificate and key hold now, or none.
   * @throws Error that says in one line what happened.
   */
  async changeTls(files: Config['tls']): Promise<void> {
    const before = this.#tls;
    let next: TlsSnapshot;
    try {
      next = new TlsSnapshot(files);
    } catch (thrown) {
      throw new Error(`certificate and key stay as they were: ${messageOf(thrown)}`);
    }
    const accepted = (): void => {
      this.#tls = next;
    };
    try {
      await changeTls(this.#tlsUsers(next), () => next.check(), accepted);
      // A front that was started meanwhile uses the snapshot of that time.
      await changeTls(this.#tlsUsers(next), () => next.check());
    } catch (thrown) {
      throw new Error(next.named(messageOf(thrown)));
    } finally {
      (this.#tls === next ? before : next).release();
    }
  }

  /** The fronts that use another snapshot. */
  #tlsUsers(next: TlsSnapshot): TlsUser[] {
    const { cert, key } = next.files;
    return this.#fronts.flatMap((front, number) => {
      const { peer } = front;
      if (!peer || front.tls === next) return [];
      // A front that exits needs no certificate; its replacement starts with the snapshot of that time.
      const step = async (task: () => Promise<void>): Promise<void> => {
        try {
          await task();
        } catch (thrown) {
          if (front.peer === peer) throw thrown;
        }
      };
      return {
        name: `front ${number}`,
        prepare: () =>
          step(async () => {
            await front.started;
            if (cert !== null && key !== null) await peer.call('prepareTls', { cert, key });
          }),
        commit: () =>
          step(async () => {
            await peer.call('commitTls', null);
            front.tls = next;
          }),
        rollback: () => step(() => peer.call('rollbackTls', null)),
      };
    });
  }

  /** Resolves when every front accepts the token. */
  async addToken(token: TokenRecord): Promise<void> {
    // The replacement of a front that exits starts with all tokens.
    await this.#each((peer) => peer.call('addToken', { token }).catch(() => {}));
  }

  /** Resolves when no front accepts the token and its streams are closed. */
  async removeToken(id: string): Promise<void> {
    await this.#each((peer) => peer.call('removeToken', { id }).catch(() => {}));
  }

  /** Tells every front why new streams are refused; null when they are not. */
  tellPressure(shortage: Shortage | null): void {
    this.#shortage = shortage;
    for (const { peer } of this.#fronts) peer?.tell('pressure', { shortage });
  }

  /**
   * Shows the stream of the cluster, in place of one that was shown before: to the fronts that there are, and to each later one.
   * Resolves when clients get the new stream.
   */
  async attachCluster(cluster: FrontCluster): Promise<void> {
    this.#cluster = cluster;
    await Promise.all(this.#fronts.map((front) => front.reattachCluster()));
  }

  /** To be called when the stream of the cluster is gone. */
  detachCluster(): void {
    this.#cluster = undefined;
    for (const { peer } of this.#fronts) peer?.tell('detachCluster', null);
  }

  /** Tells clients whether the stream of the cluster is kept current. */
  tellClusterState(state: ClusterStreamState): void {
    this.#clusterState = state;
    for (const { peer } of this.#fronts) peer?.tell('clusterState', state);
  }

  /** To be called when a bot host ends or is lost: the fronts close their channels to it, and another host may get its number. */
  detachHost(host: number): void {
    for (const { peer } of this.#fronts) peer?.tell('detachHost', { host });
  }

  /** How long each front was active and idle since its start. */
  utilizations(): EventLoopUtilization[] {
    return this.#fronts.flatMap((front) => front.utilization() ?? []);
  }

  /** Gives every stream the frames below `head`, for at most `withinMs`, then ends all fronts. */
  async close(head: number, withinMs: number): Promise<void> {
    this.#closing = true;
    this.#census?.stop();
    await Promise.all(this.#fronts.map((front) => front.close(head, withinMs)));
    this.#tls.release();
  }

  /** Breaks a front as a fault in it would; it is replaced. For drills. */
  drill(front: number): void {
    this.#fronts[front]?.peer?.tell('drill', null);
  }

  /** The threads, for the watch over their event loops, each with its name in the metrics. */
  turning(): { name: string; thread: Turning }[] {
    return this.#fronts.map(({ turning }, number) => ({ name: nameOf(number), thread: turning }));
  }

  /** Blocks the loop of a front. For drills. */
  block(front: number, block: FrontBlock): void {
    this.#fronts[front]?.peer?.tell('block', block);
  }

  /** Gives every front a channel to a new broadcaster, those that are starting too. */
  async reattach(broadcaster: BroadcasterPeer): Promise<void> {
    await Promise.all(this.#fronts.map((front) => front.reattach(broadcaster)));
  }

  #takeCensus(): void {
    const connections = new Quota(this.#parts.common.connections, 0);
    const { host, max_connections_per_address, trusted_proxies } = this.#parts.common.config.http;
    this.#census = new ConnectionCensus({
      host,
      port: this.#port,
      limit: max_connections_per_address,
      trusted: new Networks(trusted_proxies),
      open: () => connections.total(),
      report: (crowded) => {
        for (const { peer } of this.#fronts) peer?.tell('crowded', crowded);
      },
    });
  }

  async #each(task: (peer: FrontPeer) => Promise<void>): Promise<void> {
    await Promise.all(this.#fronts.map(({ peer }) => peer && task(peer)));
  }

  #add(number: number, { control, pin, tokens }: FrontService): FrontThread {
    const { common, counts, broadcaster, journal, report, slow } = this.#parts;
    const { config, stream, quota, connections } = common;
    const front = new FrontThread({
      front: number,
      startData: () => ({
        ...common,
        config: { ...config, tls: { ...config.tls, ...this.#tls.files } },
        front: number,
        pin,
        tokens: tokens.all(),
        counts: counts.front(number),
        lags: counts.lags,
        shortage: this.#shortage,
      }),
      tls: () => this.#tls,
      address: () => ({
        host: config.http.host,
        port: this.#port,
        isShared: config.http.fronts > 1,
      }),
      broadcaster,
      journal,
      cluster: () => this.#cluster,
      clusterState: () => this.#clusterState,
      control: {
        ...control,
        failed: ({ message }) => report(`front ${number} failed: ${message}`),
        slow: (turn) => slow(nameOf(number), turn),
      },
      exited: () => {
        releaseReader(stream.ring, number);
        if (this.#cluster) releaseReader(this.#cluster.stream.ring, number);
        clearQuota(quota, number);
        clearQuota(connections, number);
        counts.frontGone(number);
      },
      report,
    });
    this.#fronts.push(front);
    return front;
  }
}

function nameOf(front: number): string {
  return `front-${front}`;
}
