// Runs in main. Owns one bot host: a piscina thread with one task that never ends, its control and event channels, its
// heartbeat.

import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { LoadedKinds } from '../../shared/contract/bots.js';
import { Rpc } from '../../shared/contract/rpc.js';
import type {
  BotExit,
  HostControlMethods,
  HostedState,
  HostMethods,
  HostStart,
} from '../../shared/contract/threads.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { type HeapFigures, Heartbeat } from '../../shared/memory/heartbeat.js';
import { InFlight } from '../../shared/memory/in-flight.js';
import { LastRun } from '../../shared/memory/last-run.js';
import type { SharedLag } from '../../shared/memory/loop-lag.js';
import { WORKERS } from '../../shared/package-paths.js';
import { HEADROOM_MB } from '../bots/memory-guard.js';
import type { BroadcasterPeer, EventSink } from '../service-events.js';

export type HostPeer = Rpc<HostControlMethods, HostMethods>;

/** What every host is started with. */
export interface HostOptions {
  /** Where a host's thread says how late its loop is. */
  lagOf: (host: number) => SharedLag;
  maxHeapMb: number;
  inFlightBytes: number;
  botLinesPerSecond: number;
  /** How long one kind may take to load, in ms. */
  kindLoadMs: number;
}

/** What a host tells of itself. */
export interface HostEvents {
  exited(exit: BotExit): void;
  /** The host is lost, and with it all of its bots. What is left of it has ended when {@link HostThread.gone} resolves. */
  lost(error: Error): void;
}

/** A module that hung or ended its host while it was loaded. */
export class KindBrokeHost extends Error {
  readonly module: string;

  constructor(module: string, reason: string) {
    super(reason);
    this.module = module;
  }
}

/** A run whose code may still be running in the thread. */
interface HostedRun {
  id: string;
  over: Promise<void>;
  end(): void;
}

/** What a host knows of its bots when it has a channel to a new broadcaster, and how that gets the other end. */
export interface Reattached {
  bots: HostedState[];
  attach: () => void;
}

/** Commands that are remembered for an incident. */
const MAX_COMMANDS = 20;
/** How long a host that is well may take to answer what needs no bot, in ms. */
const ANSWER_MS = 500;

export class HostThread {
  readonly number: number;
  readonly peer: HostPeer;
  /** Commands that ran last, oldest first. Bounded by MAX_COMMANDS. */
  readonly commands: string[] = [];
  /** Bots that are placed here. */
  load = 0;
  /** It is being looked into by the inspector, and ended after that: nobody else is to end it before. */
  isExamined = false;
  /** Its bots move elsewhere, and it ends when they have. */
  isRetiring = false;
  /** The kinds that it has, each with its module. */
  readonly kinds = new Map<string, string>();
  readonly #broadcaster: EventSink;
  readonly #events: HostEvents;
  readonly #control = new MessageChannel();
  readonly #heartbeat: Heartbeat;
  readonly #lastRun: LastRun;
  readonly #piscina: Piscina<HostStart, void>;
  readonly #worker: Worker;
  readonly #task: Promise<void>;
  readonly #inFlightLimit: number;
  #inFlight: InFlight | undefined;
  readonly #kindLoadMs: number;
  /** By number. Those of bots that were abandoned stay until they settle. */
  readonly #runs = new Map<number, HostedRun>();
  /** The same, by bot: when hundreds come back at once each looks for its own. */
  readonly #runsOf = new Map<string, Set<HostedRun>>();
  /** Resolves when the thread has ended: nothing of its bots runs any more, and what they held is free. */
  readonly gone: Promise<void>;
  #isGone = false;
  /** Why it was lost. */
  #fault: Error | undefined;
  #opened = false;
  #ending = false;

  constructor(number: number, options: HostOptions, broadcaster: EventSink, events: HostEvents) {
    this.number = number;
    this.#broadcaster = broadcaster;
    this.#events = events;
    this.#kindLoadMs = options.kindLoadMs;
    this.#inFlightLimit = options.inFlightBytes;
    this.#piscina = new Piscina<HostStart, void>({
      filename: WORKERS.botHost.href,
      minThreads: 1,
      maxThreads: 1,
      concurrentTasksPerWorker: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Its default may put a thread to sleep in Atomics.wait between two tasks.
      atomics: 'disabled',
      resourceLimits: { maxOldGenerationSizeMb: options.maxHeapMb + HEADROOM_MB },
    });
    // An error of the thread that comes when its task has ended already; unheard it would be thrown in main.
    this.#piscina.on('error', (thrown: unknown) => {
      process.stderr.write(`drover: bot host ${number}: ${messageOf(thrown)}\n`);
      this.#lose(thrown instanceof Error ? thrown : new Error(String(thrown)));
    });
    // It is made at once and, as it never has no task, for good.
    this.#worker = this.#piscina.threads[0] as Worker;
    this.gone = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#isGone = true;
        for (const run of this.#runs.values()) run.end();
        resolve();
      });
    });
    this.peer = new Rpc<HostControlMethods, HostMethods>(this.#control.port1, {
      exited: events.exited,
      settled: ({ run }) => this.#over(run),
    });
    const channel = new MessageChannel();
    const inFlight = InFlight.create();
    const heartbeat = Heartbeat.create();
    this.#heartbeat = new Heartbeat(heartbeat);
    const lastRun = LastRun.create();
    this.#lastRun = new LastRun(lastRun);
    this.#attach(broadcaster.peer, channel.port2, inFlight);
    const start: HostStart = {
      host: number,
      control: this.#control.port2,
      events: channel.port1,
      inFlight,
      inFlightLimit: options.inFlightBytes,
      botLinesPerSecond: options.botLinesPerSecond,
      maxHeapMb: options.maxHeapMb,
      heartbeat,
      lag: options.lagOf(number),
      lastRun,
    };
    const transferList = [this.#control.port2, channel.port1];
    this.#task = this.#piscina.run(start, { transferList }).catch((thrown: unknown) => {
      this.#lose(thrown instanceof Error ? thrown : new Error(String(thrown)));
    });
  }

  /**
   * Loads the kinds; the host can take bots when this resolves.
   * @throws KindBrokeHost when loading one hangs or ends the host, which is then of no use any more.
   */
  async open(modules: readonly string[]): Promise<LoadedKinds> {
    const loaded: LoadedKinds = { kinds: [], failed: [] };
    // One after the other, so that which of two with the same name wins does not depend on chance.
    for (const module of modules) {
      try {
        const answer = this.peer.call('load', { module });
        const { kinds, failed } = await within(answer, this.#kindLoadMs);
        loaded.kinds.push(...kinds);
        for (const { kind } of kinds) this.kinds.set(kind, module);
        loaded.failed.push(...failed);
      } catch (thrown) {
        const late = thrown instanceof DroverError && thrown.code === 'no_answer';
        const reason = late
          ? `it did not load within ${this.#kindLoadMs} ms`
          : `it ended its bot host while it was loaded: ${messageOf(this.#fault)}`;
        throw new KindBrokeHost(module, reason);
      }
    }
    this.#opened = true;
    return loaded;
  }

  /** How long its thread has worked since it was started, in s. */
  get busySeconds(): number {
    return this.#worker.performance.eventLoopUtilization().active / 1000;
  }

  get threadId(): number {
    return this.#worker.threadId;
  }

  /** It takes no more bots, and its thread ends or has ended. */
  get isEnding(): boolean {
    return this.#ending;
  }

  /** It was lost; its thread may still be on its way out. */
  get isLost(): boolean {
    return this.#fault !== undefined;
  }

  /** The bot whose code ran last, null when none has. Also told of a host that is lost. */
  get lastBot(): string | null {
    return this.#runs.get(this.#lastRun.get())?.id ?? null;
  }

  /** The only bot with a run here, also one that was abandoned; null when there are several, or none. */
  get onlyBot(): string | null {
    const [only, another] = this.#runsOf.keys();
    return another === undefined ? (only ?? null) : null;
  }

  /** Resolves when no run of the bot goes on in the thread; undefined when none does. */
  whenFreeOf(id: string): Promise<unknown> | undefined {
    const runs = this.#isGone ? undefined : this.#runsOf.get(id);
    return runs && Promise.all(Array.from(runs, ({ over }) => over));
  }

  /** Starts a bot. @throws DroverError as its host says, or when that is lost. */
  async startBot(input: Parameters<HostMethods['start']>[0]): Promise<void> {
    let end = (): void => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    const run: HostedRun = { id: input.id, over, end };
    this.#runs.set(input.run, run);
    const own = this.#runsOf.get(input.id) ?? new Set();
    this.#runsOf.set(input.id, own.add(run));
    try {
      await this.peer.call('start', input);
    } catch (thrown) {
      // It has not begun. When the host was lost nobody knows.
      if (!this.#ending) this.#over(input.run);
      throw thrown;
    }
  }

  /** Bytes of its events on their way to the broadcaster, as a share of their bound. */
  get queueFill(): number {
    return (this.#inFlight?.bytes ?? 0) / this.#inFlightLimit;
  }

  /** Count of heartbeats; it stands still when the host's loop does. */
  get beats(): number {
    return this.#heartbeat.count;
  }

  /** Its memory as of its last heartbeat; null before the first. */
  get heap(): HeapFigures | null {
    return this.#heartbeat.heap;
  }

  /** Stops a bot. Resolves when it has stopped, or when the host is too stuck to say so: the watchdog sees to that. */
  async stopBot(id: string, graceMs: number): Promise<void> {
    const answer = this.peer.call('stop', { id, graceMs });
    // A host that is lost meanwhile has stopped the bot too.
    await within(answer, graceMs + ANSWER_MS).catch(() => {});
  }

  remember(command: string): void {
    this.commands.push(command);
    if (this.commands.length > MAX_COMMANDS) this.commands.shift();
  }

  forgetCommands(bot: string): void {
    const others = this.commands.filter((command) => !command.endsWith(` on ${bot}`));
    this.commands.splice(0, this.commands.length, ...others);
  }

  /**
   * Gives the host a channel to a new broadcaster. To that one only: when it dies before the host has answered, its
   * successor has given the host another channel meanwhile, which this one must not take the place of.
   * @returns what it knows of its bots, and `attach`, to be called when the broadcaster knows that too.
   */
  async reattach(broadcaster: BroadcasterPeer): Promise<Reattached> {
    const { port1, port2 } = new MessageChannel();
    const inFlight = InFlight.create();
    const answer = this.peer.call('attachEvents', { port: port1, inFlight }, [port1]);
    // A host that is stuck must not keep the others' events waiting; when it comes to itself it finds its channel open.
    const state = await within(answer, ANSWER_MS).catch(() => ({ bots: [] }));
    return { bots: state.bots, attach: () => this.#attach(broadcaster, port2, inFlight) };
  }

  /** Ends the thread as a crash would. A thread that is stuck in native code may take long to be {@link gone}. */
  kill(reason = new Error('it was ended')): void {
    void this.#worker.terminate();
    this.#lose(reason);
  }

  /** Ends the thread in order. Bots are to be stopped before. What does not end within `withinMs` is terminated. */
  async end(withinMs: number): Promise<void> {
    this.#ending = true;
    this.peer.tell('shutdown', null);
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([this.#task, timeout]);
    clearTimeout(timer);
    this.#detach();
    void this.#piscina.destroy();
    await this.gone;
  }

  #lose(fault: Error): void {
    if (this.#fault) return;
    this.#fault = fault;
    this.peer.close(new DroverError('unavailable', `bot host ${this.number} was lost`));
    this.#detach();
    // An error in the host's own code has ended its task, but not its thread.
    void this.#piscina.destroy();
    // One that is being ended, or has not opened, is the caller's.
    const reported = this.#opened && !this.#ending;
    this.#ending = true;
    if (reported) this.#events.lost(fault);
  }

  #over(number: number): void {
    const run = this.#runs.get(number);
    if (!run) return;
    run.end();
    this.#runs.delete(number);
    const own = this.#runsOf.get(run.id);
    own?.delete(run);
    if (own?.size === 0) this.#runsOf.delete(run.id);
  }

  /** The broadcaster takes what the thread has still posted. */
  #detach(): void {
    this.#broadcaster.peer.tell('detachHost', { host: this.number });
    this.#control.port1.close();
  }

  #attach(broadcaster: BroadcasterPeer, port: MessagePort, inFlight: SharedArrayBuffer): void {
    this.#inFlight = new InFlight(inFlight);
    broadcaster.tell('attachHost', { host: this.number, port, inFlight }, [port]);
  }
}

/** Rejects when the answer takes longer than `ms`. */
async function within<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DroverError('no_answer')), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
