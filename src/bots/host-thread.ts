// Runs in main. Owns one bot host: a piscina thread with one task that never ends, its control and event channels, its
// heartbeat.

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { Rpc } from '../contract/rpc.js';
import type {
  BotExit,
  HostControlMethods,
  HostedState,
  HostMethods,
  HostStart,
  LoadedKinds,
} from '../contract/threads.js';
import { DroverError } from '../errors.js';
import { Heartbeat } from '../shm/heartbeat.js';
import { InFlight } from '../shm/in-flight.js';
import type { EventSink } from './service-events.js';

export type HostPeer = Rpc<HostControlMethods, HostMethods>;

/** What every host is started with. */
export interface HostOptions {
  maxHeapMb: number;
  inFlightBytes: number;
  botLinesPerSecond: number;
  /** Module URLs of the kinds that it loads. */
  modules: string[];
}

/** What a host tells of itself. */
export interface HostEvents {
  exited(exit: BotExit): void;
  /** The thread is gone, and with it all of its bots. */
  lost(error: Error): void;
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
  readonly #broadcaster: EventSink;
  readonly #control = new MessageChannel();
  readonly #heartbeat: Heartbeat;
  readonly #piscina: Piscina<HostStart, void>;
  readonly #modules: string[];
  readonly #task: Promise<void>;
  #threadId = 0;
  #ending = false;

  constructor(number: number, options: HostOptions, broadcaster: EventSink, events: HostEvents) {
    this.number = number;
    this.#broadcaster = broadcaster;
    this.#modules = options.modules;
    this.#piscina = new Piscina<HostStart, void>({
      filename: new URL('../../workers/bot-host.js', import.meta.url).href,
      minThreads: 1,
      maxThreads: 1,
      concurrentTasksPerWorker: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Its default may put a thread to sleep in Atomics.wait between two tasks.
      atomics: 'disabled',
      resourceLimits: { maxOldGenerationSizeMb: options.maxHeapMb },
    });
    this.peer = new Rpc<HostControlMethods, HostMethods>(this.#control.port1, {
      exited: events.exited,
    });
    const channel = new MessageChannel();
    const inFlight = InFlight.create();
    const heartbeat = Heartbeat.create();
    this.#heartbeat = new Heartbeat(heartbeat);
    this.#attach(channel.port2, inFlight);
    const start: HostStart = {
      host: number,
      control: this.#control.port2,
      events: channel.port1,
      inFlight,
      inFlightLimit: options.inFlightBytes,
      botLinesPerSecond: options.botLinesPerSecond,
      heartbeat,
    };
    const transferList = [this.#control.port2, channel.port1];
    this.#task = this.#piscina.run(start, { transferList }).catch((thrown: unknown) => {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.peer.close(new DroverError('unavailable', `bot host ${number} was lost`));
      // Takes what the dead thread has still posted.
      this.#broadcaster.peer.tell('detachHost', { host: number });
      this.#control.port1.close();
      void this.#piscina.destroy();
      if (!this.#ending) events.lost(error);
    });
  }

  /** Loads the kinds; the host can take bots when this resolves. */
  async open(): Promise<LoadedKinds> {
    const loaded = await this.peer.call('load', { modules: this.#modules });
    this.#threadId = loaded.threadId;
    return loaded;
  }

  get threadId(): number {
    return this.#threadId;
  }

  /** Count of heartbeats; it stands still when the host's loop does. */
  get beats(): number {
    return this.#heartbeat.count;
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

  /**
   * Gives the host a channel to a new broadcaster.
   * @returns what it knows of its bots, and `attach`, to be called when the broadcaster knows that too.
   */
  async reattach(): Promise<Reattached> {
    const { port1, port2 } = new MessageChannel();
    const inFlight = InFlight.create();
    const answer = this.peer.call('attachEvents', { port: port1, inFlight }, [port1]);
    // A host that is stuck must not keep the others' events waiting; when it comes to itself it finds its channel open.
    const state = await within(answer, ANSWER_MS).catch(() => ({ bots: [] }));
    return { bots: state.bots, attach: () => this.#attach(port2, inFlight) };
  }

  /** Ends the thread as a crash would; `lost` follows. */
  kill(): void {
    for (const worker of this.#piscina.threads) void worker.terminate();
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
    this.#broadcaster.peer.tell('detachHost', { host: this.number });
    this.#control.port1.close();
    await this.#piscina.destroy();
  }

  #attach(port: MessagePort, inFlight: SharedArrayBuffer): void {
    this.#broadcaster.peer.tell('attachHost', { host: this.number, port, inFlight }, [port]);
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
