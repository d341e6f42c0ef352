// Runs in main. Owns one bot host: its thread or process, its control and event channels, its heartbeat.

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Isolation, LoadedKinds } from '../../shared/contract/bots.js';
import type {
  BotExit,
  BotFlood,
  CommandOffer,
  HostedState,
  KeptSource,
  KindFailure,
  LateError,
  ReadFiles,
} from '../../shared/contract/host-messages.js';
import type { Programs } from '../../shared/contract/programs.js';
import type { Rpc } from '../../shared/contract/rpc.js';
import type {
  BotStart,
  BroadcasterPeer,
  HostControlMethods,
  HostMethods,
  HostStart,
} from '../../shared/contract/threads.js';
import type { UsageReport } from '../../shared/contract/usage.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { CommandLog } from '../../shared/memory/command-log.js';
import { type HeapFigures, Heartbeat } from '../../shared/memory/heartbeat.js';
import { InFlight } from '../../shared/memory/in-flight.js';
import { LastRun } from '../../shared/memory/last-run.js';
import type { SharedLag } from '../../shared/memory/loop-lag.js';
import type { Captured } from '../../shared/stack-capture.js';
import { complain } from '../../shared/terminal.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { HostState } from './host-life.js';
import type { HostLink, StartLink } from './host-link.js';
import { HostedRuns } from './hosted-runs.js';
import { loadInTurn, loadSideBySide } from './kind-loading.js';
import { LastCommands } from './last-commands.js';
import type { EventSink } from './service-events.js';
import { StartBatches } from './start-batches.js';
import { SupervisedThread } from './supervised-thread.js';
import { startThreadLink } from './thread-link.js';

export type HostPeer = Rpc<HostControlMethods, HostMethods>;

/** What every host is started with. */
export interface HostOptions {
  /** Where a host's thread measures how late its loop is. */
  lagOf: (host: number) => SharedLag;
  /** Open streams. */
  streams: HostStart['streams'];
  maxHeapMb: number;
  inFlightBytes: number;
  botLinesPerSecond: number;
  networkAllow: HostStart['networkAllow'];
  env?: HostStart['env'];
  /** How long a command may take, in ms. */
  commandTimeoutMs: number;
  /** How long one kind may take to load, in ms. */
  kindLoadMs: number;
  notesResources?: HostStart['notesResources'];
  /** Of the node in its cluster; absent for a single service. */
  lease?: HostStart['lease'];
}

/** The kinds that a host is to load. */
export interface KindSet {
  /** URLs of modules, and names of programs. */
  modules: readonly string[];
  /** The version of the kind in each module, empty while it is not known. A host notes the files of modules that have none. */
  versions: ReadonlyMap<string, string>;
  /** The files of these versions. What is not among them is read from disk. */
  sources: readonly KeptSource[];
  /** What the modules of programs stand for. */
  programs: Programs;
}

/** A kind that a host has loaded. */
export interface HostedKind {
  module: string;
  /** Empty while it is not known. */
  version: string;
}

export interface HostEvents {
  /** It beats again, after a time in which nothing ran in it. */
  awake(): void;
  exited(exit: BotExit): void;
  lateError(error: LateError): void;
  /** A bot has been above its limits of lines or statuses for a while. */
  flooded(flood: BotFlood): void;
  used(report: UsageReport): void;
  /** A run has other commands than its kind had until now. */
  offered(offer: CommandOffer): void;
  /** Code of a kind's module has thrown, and the bots of the kind there end. */
  kindFailed(failure: KindFailure): void;
  /** The host has failed or was killed, and its bots with it. Its thread has exited when {@link HostThread.gone} resolves. */
  failed(error: Error): void;
}

/** What a host knows about its bots when it has a channel to a new broadcaster. */
export interface Reattached {
  bots: HostedState[];
  /** Gives the broadcaster its end of the channel. */
  attach: () => void;
}

/** How long a healthy host may take to answer what needs no bot, in ms. */
const ANSWER_MS = 500;

export class HostThread {
  readonly number: number;
  /** Changed by HostPool alone. */
  state: HostState = 'loading';
  /** Bots that are placed here. Changed by HostPool and HostPlacement alone. */
  bots = 0;
  /** The kinds that it has loaded. */
  readonly kinds = new Map<string, HostedKind>();
  readonly #thread: SupervisedThread<HostControlMethods, HostMethods>;
  readonly #broadcaster: EventSink;
  readonly #events: HostEvents;
  readonly #options: HostOptions;
  readonly #set: KindSet;
  readonly #control = new MessageChannel();
  readonly #heartbeatCells = Heartbeat.create();
  readonly #heartbeat = new Heartbeat(this.#heartbeatCells);
  readonly #lastRunCell = LastRun.create();
  readonly #lastRun = new LastRun(this.#lastRunCell);
  readonly #commandLogCells = CommandLog.create();
  readonly #commands = new LastCommands(new CommandLog(this.#commandLogCells));
  readonly #runs = new HostedRuns();
  readonly #starts = new StartBatches((bots) => this.#thread.peer.call('start', { bots }));
  readonly #startLink: StartLink;
  #link: HostLink | undefined;
  #inFlight: InFlight | undefined;
  #isGone = false;
  #fault: Error | undefined;

  /** @param set what it is to load. @param startLink what it runs in. */
  constructor(
    number: number,
    options: HostOptions,
    set: KindSet,
    broadcaster: EventSink,
    events: HostEvents,
    startLink: StartLink = startThreadLink,
  ) {
    this.#startLink = startLink;
    this.number = number;
    this.#options = options;
    this.#set = set;
    this.#broadcaster = broadcaster;
    this.#events = events;
    this.#thread = new SupervisedThread<HostControlMethods, HostMethods>({
      source: () => this.#startTask(),
      methods: {
        awake: () => events.awake(),
        exited: events.exited,
        lateError: events.lateError,
        flooded: events.flooded,
        offered: events.offered,
        kindFailed: events.kindFailed,
        settled: ({ run }) => this.#runs.settle(run),
        used: events.used,
      },
      lost: () => new DroverError('unavailable', `bot host ${number} was lost`),
      ended: (error) => this.#ended(error),
      exited: () => {
        this.#isGone = true;
        this.#runs.settleAll();
      },
    });
    void this.#thread.start();
  }

  /** What it is asked comes after the starts that were asked before. */
  get peer(): HostPeer {
    this.#starts.flush();
    return this.#thread.peer;
  }

  get isolation(): Isolation {
    return this.#link?.isolation ?? 'thread';
  }

  /** Where its code is; undefined when it does not answer within the time: it is in native code. */
  async capture(withinMs: number): Promise<Captured | undefined> {
    return this.#link?.capture(withinMs);
  }

  /** Bytes that its process uses; null for a host in a thread of the service, and where that is unknown. */
  get processMemory(): number | null {
    return this.#link?.memory() ?? null;
  }

  /** Resolves when the thread has exited: nothing of its bots runs any more, and what they held is free. */
  get gone(): Promise<void> {
    return this.#thread.gone;
  }

  /** It has failed or was killed. Its thread may still be exiting. */
  get isLost(): boolean {
    return this.#fault !== undefined;
  }

  /** How long its thread has been active since its start, in s. */
  get busySeconds(): number {
    return (this.#thread.utilization()?.active ?? 0) / 1000;
  }

  /** Bytes of its events on their way to the broadcaster, as a share of their limit. */
  get queueFill(): number {
    return (this.#inFlight?.bytes ?? 0) / this.#options.inFlightBytes;
  }

  /** Nothing runs in it, so it does not beat. */
  get isAsleep(): boolean {
    return !this.#heartbeat.isAwake;
  }

  /** Count of heartbeats; it does not change while the host's loop does not turn, or the host is asleep. */
  get beats(): number {
    return this.#heartbeat.count;
  }

  /** Its memory as of its last heartbeat; null before the first. */
  get heap(): HeapFigures | null {
    return this.#heartbeat.heap;
  }

  /** The bot whose code ran last, null when that was the code of no bot. Also known of a lost host. */
  get lastBot(): string | null {
    return this.#runs.botOf(this.#lastRun.get());
  }

  /** The bot of a run that it has, an abandoned one included; null for another. */
  botOf(run: number): string | null {
    return this.#runs.botOf(run);
  }

  /** How often the code that runs there has become that of another bot, or of none. */
  get codeChanges(): number {
    return this.#lastRun.changes;
  }

  /** How late its loop was at worst in its last 10 to 20 s of work, in ms. */
  get lateMs(): number {
    return this.#heartbeat.lateMs;
  }

  /** How long its thread has waited for a processor since its start, in ms. */
  get waitedMs(): number {
    return this.#link?.waitedMs(this.#heartbeat.thread) ?? 0;
  }

  /** The only bot with a run here, an abandoned one included; null when there are several, or none. */
  get onlyBot(): string | null {
    return this.#runs.onlyBot;
  }

  /** Some bot with a run here, an abandoned one included; null when there is none. */
  get someBot(): string | null {
    return this.#runs.someBot;
  }

  /** The last commands that began to run there, oldest first, each `<command> on <bot>`. Also known of a lost host. */
  get commands(): string[] {
    return this.#commands.list();
  }

  /** Resolves when no run of the bot continues in the thread; undefined when none does. */
  whenFreeOf(id: string): Promise<unknown> | undefined {
    return this.#isGone ? undefined : this.#runs.whenFreeOf(id);
  }

  /**
   * Loads the kinds; the host can take bots when this resolves. After an error it is of no use any more.
   * @param inTurn one after the other. @throws KindBrokeHost, KindUnclear
   */
  async open(inTurn: boolean): Promise<LoadedKinds> {
    const { modules, versions } = this.#set;
    const host = {
      load: (module: string) => this.peer.call('load', { module }),
      answers: async () => (await this.#open()) !== null,
      lossReason: () => messageOf(this.#fault),
    };
    const load = inTurn ? loadInTurn : loadSideBySide;
    const loaded = await load(modules, host, this.#options.kindLoadMs);
    for (const [kind, module] of loaded.modules) {
      this.kinds.set(kind, { module, version: versions.get(module) ?? '' });
    }
    this.peer.tell('use', { modules: [...loaded.modules.values()] });
    return loaded;
  }

  /** What its kinds consist of; null when it does not answer. It notes that only of modules that it has read for the first time. */
  async readFiles(): Promise<ReadFiles | null> {
    const modules = [...this.kinds.values()].map(({ module }) => module);
    const read = this.peer.call('readFiles', { modules });
    // A host that hangs now is the watchdog's.
    return withTimeout(read, this.#options.kindLoadMs, () => null).catch(() => null);
  }

  /** Starts a bot. @throws DroverError as its host says, or when that is lost. */
  async startBot(bot: BotStart): Promise<void> {
    this.#runs.add(bot.run, bot.id);
    try {
      await this.#starts.add(bot);
    } catch (thrown) {
      // It has not begun. Of a host that was lost nobody knows.
      if (!this.isLost) this.#runs.settle(bot.run);
      throw thrown;
    }
  }

  /** How many connections its bots have open, by kind, as far as it says. */
  async openByKind(): Promise<Record<string, number>> {
    return (await this.#open()) ?? {};
  }

  /** Null when it does not answer. */
  #open(): Promise<Record<string, number> | null> {
    return withTimeout(this.peer.call('open', null), ANSWER_MS, () => null).catch(() => null);
  }

  /** Whether the bot keeps its connections when the node loses its lease. */
  exemptFromLease(id: string, stays: boolean): void {
    this.peer.tell('exemptFromLease', { id, stays });
  }

  /**
   * Resolves when no command under the bot's former permit can begin any more: when its host hangs, not before that recovers or is
   * lost.
   */
  async setPermit(id: string, permit: number): Promise<void> {
    await this.peer.call('setPermit', { id, permit }).catch(() => {});
  }

  /** Stops a bot. Resolves when it has stopped, or when the host hangs, which is for the watchdog to find. */
  async stopBot(id: string, graceMs: number): Promise<void> {
    const stopped = this.peer.call('stop', { id, graceMs });
    // A host that is lost meanwhile has stopped the bot too.
    await withTimeout(stopped, graceMs + ANSWER_MS, () => {}).catch(() => {});
  }

  /** Those of this bot until now are not shown any more. */
  forgetCommands(bot: string): void {
    this.#commands.forget(bot);
  }

  /** A channel for the commands of a front, or of main. @throws DroverError `unavailable` when the host is lost meanwhile. */
  async connectFront(): Promise<MessagePort> {
    const { port1, port2 } = new MessageChannel();
    try {
      await this.peer.call('attachFront', { port: port1 }, [port1]);
      return port2;
    } catch (thrown) {
      port2.close();
      throw thrown;
    }
  }

  /**
   * Gives the host a channel to a new broadcaster, and only to that one: when it dies before the host has answered, its
   * successor has given the host another channel meanwhile, which must stay.
   */
  async reattach(broadcaster: BroadcasterPeer): Promise<Reattached> {
    const { port1, port2 } = new MessageChannel();
    const inFlight = InFlight.create();
    const answer = this.peer.call('attachEvents', { port: port1, inFlight }, [port1]);
    // A host that hangs must not hold up the others' events. If it recovers its channel is open.
    const { bots } = await withTimeout(answer, ANSWER_MS, () => ({ bots: [] })).catch(() => ({
      bots: [],
    }));
    return { bots, attach: () => this.#attach(broadcaster, port2, inFlight) };
  }

  /** Ends the thread as a crash would. A thread that is stuck in native code may take long to exit. */
  kill(reason = new Error('it was ended')): void {
    this.#thread.kill(reason);
  }

  /** Asks the thread to end; its bots are to be stopped before. @returns whether it has exited within `withinMs`. */
  shutDown(withinMs: number): Promise<boolean> {
    return this.#thread.stop((peer) => peer.tell('shutdown', null), withinMs);
  }

  #startTask(): HostLink {
    const { number } = this;
    const {
      inFlightBytes,
      botLinesPerSecond,
      networkAllow,
      env = [],
      maxHeapMb,
      lagOf,
      streams,
      commandTimeoutMs,
      notesResources = false,
      lease = null,
    } = this.#options;
    const { modules, versions, sources, programs } = this.#set;
    const events = new MessageChannel();
    const inFlight = InFlight.create();
    const task: HostStart = {
      host: number,
      control: this.#control.port2,
      events: events.port1,
      inFlight,
      inFlightLimit: inFlightBytes,
      botLinesPerSecond,
      networkAllow,
      env,
      maxHeapMb,
      heartbeat: this.#heartbeatCells,
      streams,
      lag: lagOf(number),
      lastRun: this.#lastRunCell,
      commandLog: this.#commandLogCells,
      commandTimeoutMs,
      notesResources,
      programs,
      sources,
      notesFiles: modules.some((module) => !versions.has(module)),
      lease,
    };
    const link = this.#startLink({
      task,
      transferList: [this.#control.port2, events.port1],
      port: this.#control.port1,
      failed: (error) => complain(`bot host ${number}: ${messageOf(error)}`),
    });
    this.#link = link;
    // Not before: the broadcaster must not get a host that could not be started.
    this.#attach(this.#broadcaster.peer, events.port2, inFlight);
    return link;
  }

  /** Its code has ended. After an error in the host's own code its thread still runs. */
  #ended(error: Error | undefined): void {
    this.#fault = error;
    // The broadcaster takes what the thread has posted.
    this.#broadcaster.peer.tell('detachHost', { host: this.number });
    this.#control.port1.close();
    this.#thread.kill();
    if (error) this.#events.failed(error);
  }

  #attach(broadcaster: BroadcasterPeer, port: MessagePort, inFlight: SharedArrayBuffer): void {
    this.#inFlight = new InFlight(inFlight);
    broadcaster.tell('attachHost', { host: this.number, port, inFlight }, [port]);
  }
}
