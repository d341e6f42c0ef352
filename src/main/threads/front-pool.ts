// Runs in main. Owns the front threads: starts them on one port, connects them, ends them. A front that breaks closes
// its own sockets and says so; it is never terminated, which would abort the process while sockets are open.

import type { EventLoopUtilization } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { MessageChannel, Worker } from 'node:worker_threads';
import type { Shortage } from '../../shared/contract/pressure.js';
import { Rpc, type Serves } from '../../shared/contract/rpc.js';
import type {
  Bound,
  ControlMethods,
  FrontMethods,
  FrontStart,
} from '../../shared/contract/threads.js';
import type { TokenRecord } from '../../shared/contract/tokens.js';
import { DroverError, messageOf, StartupError } from '../../shared/errors.js';
import { clearQuota, Quota } from '../../shared/memory/quota.js';
import { releaseReader } from '../../shared/memory/ring-reader.js';
import { WORKERS } from '../../shared/package-paths.js';
import { changeTls, type TlsUser } from '../../shared/tls.js';
import { ConnectionCensus } from '../access/connection-census.js';
import type { BroadcasterPeer, EventSink } from '../service-events.js';
import type { ThreadCounts } from '../thread-counts.js';
import { TlsSnapshot } from '../tls-snapshot.js';
import type { JournalThread } from './journal-thread.js';

/** Between two tries to replace a front, in ms. */
const RESPAWN_MS = 1000;

type FrontPeer = Rpc<ControlMethods, FrontMethods>;
interface Front {
  worker: Worker;
  peer: FrontPeer;
  /** What it uses. */
  tls: TlsSnapshot;
  /** Resolves when it listens, or will not. */
  started: Promise<void>;
  /** Resolves when the thread has ended. */
  ended: Promise<void>;
}

/** What every front starts with, except its own number. */
export interface FrontCommon
  extends Omit<FrontStart, 'front' | 'tokens' | 'shortage' | 'counts' | 'lags'> {
  counts: ThreadCounts;
  /** What is good when a front starts; it is told of every change after that. */
  tokens: () => TokenRecord[];
}

export class FrontPool {
  readonly #common: FrontCommon;
  readonly #broadcaster: EventSink;
  readonly #journal: JournalThread;
  readonly #control: Omit<Serves<ControlMethods>, 'failed'>;
  readonly #report: (message: string) => void;
  /** By number, each from the moment at which its thread is started, so that a new broadcaster or the end finds it. */
  readonly #fronts: (Front | undefined)[] = [];
  #port = 0;
  #closing = false;
  #shortage: Shortage | null = null;
  #census: ConnectionCensus | undefined;
  /** What every front is to use. */
  #tls: TlsSnapshot;

  /** @param report puts a line about a broken front on the stream. */
  constructor(
    common: FrontCommon,
    broadcaster: EventSink,
    journal: JournalThread,
    control: Omit<Serves<ControlMethods>, 'failed'>,
    report: (message: string) => void,
  ) {
    this.#common = common;
    this.#broadcaster = broadcaster;
    this.#journal = journal;
    this.#control = control;
    this.#report = report;
    this.#tls = new TlsSnapshot(common.config.tls);
  }

  /**
   * Starts all fronts on one port.
   * @throws StartupError when the port cannot be bound or the engine does not run here.
   */
  async start(): Promise<Bound> {
    const { port, fronts, max_header_bytes } = this.#common.config.http;
    this.#port = port;
    // uWebSockets.js reads it from the process's environment when its binary is loaded; a thread's own is a copy.
    process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(max_header_bytes);
    // The first asks for the port alone, so that one that is taken (also by another Drover) is an error and not shared.
    const bound = await this.#spawn(0, true);
    this.#port = bound.port;
    for (let front = 1; front < fronts && !this.#closing; front++) await this.#spawn(front, false);
    if (bound.wantsCensus) this.#takeCensus();
    return bound;
  }

  /**
   * Has all fronts use what is in the files of certificate and key now, or none.
   * @throws Error that says in a line what has happened.
   */
  async changeTls(): Promise<void> {
    const before = this.#tls;
    let next: TlsSnapshot;
    try {
      next = new TlsSnapshot(this.#common.config.tls);
    } catch (thrown) {
      throw new Error(`certificate and key stay as they were: ${messageOf(thrown)}`);
    }
    const accepted = (): void => {
      this.#tls = next;
    };
    try {
      await changeTls(this.#tlsUsers(next), () => next.check(), accepted);
      // One that was started meanwhile, with what was good then.
      await changeTls(this.#tlsUsers(next), () => next.check());
    } catch (thrown) {
      throw new Error(next.named(messageOf(thrown)));
    } finally {
      (this.#tls === next ? before : next).release();
    }
  }

  /** The fronts that use anything else, as {@link changeTls} needs them. */
  #tlsUsers(next: TlsSnapshot): TlsUser[] {
    const { cert, key } = next.files;
    return this.#fronts.flatMap((front, number) => {
      if (!front || front.tls === next) return [];
      const { peer, started } = front;
      const prepare = async (): Promise<void> => {
        await started;
        if (cert !== null && key !== null) await peer.call('prepareTls', { cert, key });
      };
      const settle = async (apply: boolean): Promise<void> => {
        await peer.call('settleTls', { apply });
        if (apply) front.tls = next;
      };
      // One that just ends needs none; the one in its place starts with what is good then.
      const unlessGone = (thrown: unknown): void => {
        if (this.#fronts[number] === front) throw thrown;
      };
      return {
        name: `front ${number}`,
        prepare: () => prepare().catch(unlessGone),
        settle: (apply) => settle(apply).catch(unlessGone),
      };
    });
  }

  /** Resolves when every front accepts the token. */
  async addToken(token: TokenRecord): Promise<void> {
    // One that ends over it accepts nothing any more; the one in its place starts with all tokens.
    await this.#each(({ peer }) => peer.call('addToken', { token }).catch(() => {}));
  }

  /** Resolves when no front accepts the token and its streams are closed. */
  async removeToken(id: string): Promise<void> {
    await this.#each(({ peer }) => peer.call('removeToken', { id }).catch(() => {}));
  }

  /** Tells every front why new streams are to be refused. */
  tellPressure(shortage: Shortage | null): void {
    this.#shortage = shortage;
    for (const front of this.#fronts) front?.peer.tell('pressure', { shortage });
  }

  /** How long each front has worked and rested since its start. */
  utilizations(): EventLoopUtilization[] {
    return this.#fronts.flatMap((front) => front?.worker.performance.eventLoopUtilization() ?? []);
  }

  /** Lets every stream have the frames below `head`, for at most `withinMs`, then ends all fronts. */
  async close(head: number, withinMs: number): Promise<void> {
    this.#closing = true;
    this.#census?.stop();
    const fronts = this.#fronts.filter((front) => front !== undefined);
    for (const { peer } of fronts) peer.tell('close', { head, withinMs });
    await Promise.all(fronts.map(({ ended }) => ended));
    this.#tls.release();
  }

  /** Breaks a front as a fault of its own would; it is replaced. For drills. */
  drill(front: number): void {
    this.#fronts[front]?.peer.tell('drill', null);
  }

  /** Gives every front a channel to a new broadcaster, those that are just starting too. */
  async reattach(broadcaster: BroadcasterPeer): Promise<void> {
    // One that ends over it needs none; the one in its place attaches itself.
    await this.#each((entry, front) =>
      this.#attach(front, entry.peer, broadcaster).catch(() => {}),
    );
  }

  /** Gives every front a channel to a new journal thread. */
  reattachJournal(): void {
    for (const [front, entry] of this.#fronts.entries()) {
      if (entry) this.#attachJournal(front, entry.peer);
    }
  }

  #attachJournal(front: number, peer: FrontPeer): void {
    const port = this.#journal.attachFront(front);
    if (port) peer.tell('attachJournal', { port }, [port]);
  }

  #takeCensus(): void {
    const connections = new Quota(this.#common.connections, 0);
    this.#census = new ConnectionCensus({
      host: this.#common.config.http.host,
      port: this.#port,
      limit: this.#common.config.http.max_connections_per_address,
      open: () => connections.total(),
      tell: (crowded) => {
        for (const front of this.#fronts) front?.peer.tell('crowded', crowded);
      },
    });
  }

  async #attach(front: number, peer: FrontPeer, broadcaster: BroadcasterPeer): Promise<void> {
    // The front keeps the last channel that it was given: a late one to a dead broadcaster must not be it.
    if (broadcaster !== this.#broadcaster.peer) return;
    const { port1, port2 } = new MessageChannel();
    broadcaster.tell('attachFront', { front, port: port1 }, [port1]);
    await peer.call('attachBroadcaster', { port: port2 }, [port2]);
  }

  async #each(task: (front: Front, number: number) => Promise<void>): Promise<void> {
    await Promise.all(this.#fronts.map((entry, front) => entry && task(entry, front)));
  }

  async #spawn(front: number, probe: boolean): Promise<Bound> {
    const tokens = this.#common.tokens();
    const { counts: all } = this.#common;
    const counts = all.front(front);
    const tls = this.#tls;
    const config = { ...this.#common.config, tls: tls.files };
    const own = { config, front, tokens, counts, lags: all.lags, shortage: this.#shortage };
    const workerData: FrontStart = { ...this.#common, ...own };
    const worker = new Worker(WORKERS.front, { workerData });
    const peer: FrontPeer = new Rpc<ControlMethods, FrontMethods>(worker, {
      ...this.#control,
      failed: ({ message }) => this.#report(`front ${front} failed: ${message}`),
    });
    let listening = false;
    let hasStarted = (): void => {};
    const started = new Promise<void>((resolve) => {
      hasStarted = resolve;
    });
    const ended = new Promise<void>((resolve) => {
      worker.once('error', (error) =>
        peer.close(new DroverError('internal', tls.named(messageOf(error)))),
      );
      worker.once('exit', () => {
        peer.close(new DroverError('unavailable', `front ${front} has ended`));
        releaseReader(this.#common.stream.ring, front);
        clearQuota(this.#common.quota, front);
        clearQuota(this.#common.connections, front);
        this.#common.counts.frontGone(front);
        this.#broadcaster.peer.tell('detachFront', { front });
        this.#journal.detachFront(front);
        this.#fronts[front] = undefined;
        hasStarted();
        resolve();
        if (!this.#closing && listening) void this.#respawn(front);
      });
    });
    this.#fronts[front] = { worker, peer, tls, started, ended };
    this.#attachJournal(front, peer);
    // One that is not restored yet knows of no bot. It attaches all fronts that there are when it is.
    await this.#attach(front, peer, await this.#broadcaster.ready).catch(refuse(''));
    if (this.#closing) throw new DroverError('unavailable');
    const { host, fronts } = this.#common.config.http;
    const bound = await peer
      .call('listen', { port: this.#port, shared: fronts > 1, probe })
      .catch(
        refuse(`cannot listen on ${host}:${this.#port}: `, '; give another with --port or --host'),
      );
    listening = true;
    hasStarted();
    return bound;
  }

  /** Until there is one in its place: what keeps it from starting (a port, a certificate) may be mended. */
  async #respawn(front: number): Promise<void> {
    let told = '';
    while (!this.#closing) {
      try {
        await this.#spawn(front, false);
        this.#report(`front ${front} was replaced`);
        return;
      } catch (thrown) {
        const reason = messageOf(thrown);
        if (reason !== told) this.#report(`front ${front} could not be restarted: ${reason}`);
        told = reason;
      }
      const failed = this.#fronts[front];
      failed?.peer.tell('close', { head: 0, withinMs: 0 });
      await failed?.ended;
      await delay(RESPAWN_MS);
    }
  }
}

/** Turns whatever was thrown into a fault of the surroundings. */
function refuse(before: string, after = ''): (thrown: unknown) => never {
  return (thrown) => {
    throw new StartupError(before + messageOf(thrown) + after);
  };
}
