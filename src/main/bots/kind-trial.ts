// Runs in the process of a command. Owns one bot host without a service: the thread and the code that run a kind in a service run it
// here too.

import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { HostCommands } from '../../shared/commands/host-commands.js';
import { type Batch, decodeBatch } from '../../shared/contract/batch.js';
import type { KindInfo, LoadedKinds } from '../../shared/contract/bots.js';
import { ANY_PERMIT } from '../../shared/contract/command-messages.js';
import type { Config } from '../../shared/contract/config.js';
import type { Item } from '../../shared/contract/events.js';
import type {
  BotExit,
  BotFlood,
  CommandOffer,
  KindFailure,
  LateError,
  LeftBehind,
} from '../../shared/contract/host-messages.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import type { Programs } from '../../shared/contract/programs.js';
import { Rpc } from '../../shared/contract/rpc.js';
import { DISPATCH_SCOPE } from '../../shared/contract/scopes.js';
import type { BroadcasterMethods } from '../../shared/contract/threads.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { InFlight } from '../../shared/memory/in-flight.js';
import { createLags } from '../../shared/memory/loop-lag.js';
import { createQuota } from '../../shared/memory/quota.js';
import type { Captured } from '../../shared/stack-capture.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { StartLink } from '../threads/host-link.js';
import { HostThread } from '../threads/host-thread.js';
import { KindBrokeHost, KindUnclear } from '../threads/kind-loading.js';
import { logItem } from '../threads/service-events.js';
import { KindSchemas } from './kind-schemas.js';
import { type KindVersion, KindVersions, trusted, versionsOf } from './kind-versions.js';

/** The part of a broadcaster that a host uses. */
type HostSinkMethods = Pick<BroadcasterMethods, 'attachHost' | 'detachHost'>;

/** The id of the bot. */
export const TRIAL_BOT = 'test';
/** How much longer than the code may take the thread may take to answer, in ms. */
const ANSWER_MS = 1000;
/** How long handles that are about to close may take, in ms. */
const CLOSE_MS = 250;
const EXIT_MS = 1000;

/** The thread does not answer: code blocks its event loop. */
export class TrialStuck extends Error {
  constructor(captured: Captured | undefined) {
    const frames = captured?.frames.slice(0, 3) ?? [];
    const at = frames.map(({ function: name, url, line, column }) => {
      return `${name || '(anonymous)'} (${url}:${line}:${column})`;
    });
    super(
      `the event loop is blocked${at.length === 0 ? ', in native code' : ` at ${at.join(', ')}`}`,
    );
  }
}

/** What a trial loads, and in what. */
export interface TrialSet {
  modules: readonly string[];
  /** What modules of programs stand for. */
  programs?: Programs;
  /** What bots leave behind is listed, and what the kinds consist of is not noted. */
  isTest?: true;
  /** Absent: a thread. */
  startLink?: StartLink;
}

export class KindTrial {
  readonly #config: Config;
  readonly #modules: readonly string[];
  readonly #programs: Programs;
  readonly #host: HostThread;
  readonly #commands: HostCommands;
  /** Of the kinds that it has loaded. */
  readonly schemas = new KindSchemas();
  readonly #broadcaster: Rpc<HostSinkMethods, never>;
  readonly #channel = new MessageChannel();
  readonly #publish: (item: Item) => void;
  readonly #exited = new Deferred<BotExit>();
  #events: { port: MessagePort; inFlight: InFlight } | undefined;
  #fault: Error | undefined;

  /** @param set the modules to load. @param publish is called with all that the bot publishes, in order. */
  constructor(config: Config, set: TrialSet, publish: (item: Item) => void) {
    const { modules, programs = {}, startLink, isTest = false } = set;
    this.#config = config;
    this.#modules = modules;
    this.#programs = programs;
    this.#publish = publish;
    this.#broadcaster = new Rpc<HostSinkMethods, never>(this.#channel.port1, {
      attachHost: ({ port, inFlight }) => this.#attach(port, new InFlight(inFlight)),
      detachHost: () => this.#detach(),
    });
    const peer = new Rpc<never, BroadcasterMethods>(this.#channel.port2, {} as never);
    const { hosts, network, invoke } = config;
    const lags = createLags(1);
    const options = {
      lagOf: () => ({ buffer: lags, block: 0 }),
      streams: createQuota({ total: 0, perToken: 0, perAddress: 0 }, 1),
      maxHeapMb: hosts.max_heap_mb,
      inFlightBytes: hosts.in_flight_bytes,
      botLinesPerSecond: hosts.bot_lines_per_second,
      networkAllow: network.allow,
      env: hosts.env,
      commandTimeoutMs: invoke.timeout_ms,
      kindLoadMs: hosts.kind_load_ms,
      notesResources: isTest,
    };
    const sink = { peer, ready: Promise.resolve(peer) };
    const events = {
      awake() {},
      ready() {},
      exited: (exit: BotExit) => this.#exited.resolve(exit),
      lateError({ error, isLeftOpen }: LateError) {
        // The trial lists what the bot leaves.
        if (isLeftOpen) return;
        publish(logItem('error', 'bot', `error after the end of its run: ${error}`, TRIAL_BOT));
      },
      used() {},
      offered: ({ kind, commands }: CommandOffer) => this.schemas.offer(kind, commands),
      kindFailed({ error, bots }: KindFailure) {
        if (bots > 0) return;
        publish(
          logItem('error', 'bot', `error of its module, outside of a run: ${error}`, TRIAL_BOT),
        );
      },
      flooded: ({ reason }: BotFlood) =>
        publish(logItem('error', 'bot', `flood: ${reason}`, TRIAL_BOT)),
      failed: (error: Error) => {
        this.#fault = error;
        const { stack = null } = error;
        const reason = `it ended its bot host: ${messageOf(error)}`;
        this.#exited.resolve({ id: TRIAL_BOT, run: 1, error: reason, stack, restart: false });
      },
    };
    const unread = KindVersions.unread({ modules, programs });
    // On Node 20 the hooks that note it would be what the kind has left behind.
    const all = new Map(modules.map((module) => [module, '']));
    this.#host = new HostThread(
      0,
      options,
      isTest ? { ...unread, versions: all } : unread,
      sink,
      events,
      startLink,
    );
    this.#commands = new HostCommands({
      connect: () => this.#host.connectFront(),
      failed() {},
      // The trial gives up the thread first, and says where its code is.
      timeoutMs: invoke.timeout_ms + ANSWER_MS,
      maxWaiting: 1,
    });
  }

  /** Resolves when the run has ended by itself, or has taken its host with it. */
  get exited(): Promise<BotExit> {
    return this.#exited.promise;
  }

  /**
   * Loads the modules, and compiles the schemas of their kinds.
   * @returns the kinds that can be used, and why the others cannot. @throws KindBrokeHost, KindUnclear
   */
  async load(inTurn = this.#modules.length === 1): Promise<LoadedKinds> {
    const { kinds, failed } = await this.#host.open(inTurn);
    const modules = new Map([...this.#host.kinds].map(([kind, { module }]) => [kind, module]));
    const invalid = this.schemas.add(kinds, modules);
    const isValid = ({ kind }: KindInfo): boolean =>
      invalid.every(({ module }) => module !== modules.get(kind));
    return { kinds: kinds.filter(isValid), failed: [...failed, ...invalid] };
  }

  /** Of these kinds, which it has loaded. */
  async versions(kinds: readonly KindInfo[]): Promise<KindVersion[]> {
    const read = trusted(await this.#host.readFiles(), this.#host.isolation);
    return versionsOf(kinds, this.#host.kinds, read, this.#programs);
  }

  /** @throws DroverError when the configuration is not valid, or the bot cannot be started. */
  async start(kind: string, config: JsonObject): Promise<void> {
    const checked = this.schemas.checkConfig(kind, config);
    await this.#host.startBot({ id: TRIAL_BOT, run: 1, kind, config: checked });
  }

  /** @throws DroverError as `POST /invoke` would answer; TrialStuck */
  async invoke(command: string, args: JsonObject): Promise<Json> {
    const sending = { bot: TRIAL_BOT, command, args: JSON.stringify(args), permit: ANY_PERMIT };
    const answer = this.#commands.run(0, sending, { onGone: () => {} });
    const result = await this.#answer(answer, this.#config.invoke.timeout_ms + ANSWER_MS);
    if (result === null) throw new DroverError('conflict', `bot ${TRIAL_BOT} is not running`);
    return JSON.parse(result) as Json;
  }

  /** @returns whether the run has ended within its grace time. @throws TrialStuck */
  async stop(): Promise<boolean> {
    const graceMs = this.#config.hosts.stop_grace_ms;
    const stopped = this.#host.peer.call('stop', { id: TRIAL_BOT, graceMs });
    return !(await this.#answer(stopped, graceMs + ANSWER_MS)).abandoned;
  }

  /** Whether `run` has returned or thrown, or does within the grace time: an uncaught error ends a run that has not. */
  async returns(): Promise<boolean> {
    const free = this.#host.whenFreeOf(TRIAL_BOT);
    if (!free) return true;
    return withTimeout(
      free.then(() => true),
      this.#config.hosts.stop_grace_ms,
      () => false,
    );
  }

  /** Lists what the kind's code has left. @throws TrialStuck */
  leftBehind(): Promise<LeftBehind[]> {
    const left = this.#host.peer.call('leftBehind', { withinMs: CLOSE_MS });
    return this.#answer(left, CLOSE_MS + ANSWER_MS);
  }

  /** Ends the thread, with all that is left in it. */
  async close(): Promise<void> {
    if (!(await this.#host.shutDown(EXIT_MS))) this.#host.kill();
    this.#commands.detach();
    this.#detach();
    this.#broadcaster.close(new DroverError('unavailable'));
    this.#channel.port1.close();
  }

  /** What the bot has published comes before the answer. */
  async #answer<T>(answer: Promise<T>, withinMs: number): Promise<T> {
    let isLate = false;
    try {
      const value = await withTimeout(answer, withinMs, () => {
        isLate = true;
        throw new DroverError('no_answer');
      });
      this.#drain();
      return value;
    } catch (thrown) {
      this.#drain();
      if (isLate) throw new TrialStuck(await this.#host.capture(ANSWER_MS));
      if (this.#fault) throw new DroverError('internal', messageOf(this.#fault));
      throw thrown;
    }
  }

  #attach(port: MessagePort, inFlight: InFlight): void {
    this.#events = { port, inFlight };
    port.on('message', (batch: Batch) => this.#take(batch, inFlight));
  }

  #detach(): void {
    this.#drain();
    this.#events?.port.close();
    this.#events = undefined;
  }

  #drain(): void {
    if (!this.#events) return;
    const { port, inFlight } = this.#events;
    for (;;) {
      const next = receiveMessageOnPort(port) as { message: Batch } | undefined;
      if (!next) return;
      this.#take(next.message, inFlight);
    }
  }

  #take({ bytes }: Batch, inFlight: InFlight): void {
    inFlight.subtract(bytes.byteLength);
    for (const item of decodeBatch(bytes)) {
      // Outcomes of commands are returned.
      if (item.kind !== 'log' || item.scope !== DISPATCH_SCOPE) this.#publish(item);
    }
  }
}

/** Kinds that were loaded by a trial. */
export interface TriedKinds extends LoadedKinds {
  versions: KindVersion[];
  /** Of these kinds. */
  schemas: KindSchemas;
}

/**
 * Loads kinds as a service does: what breaks a host is left out, and the rest is loaded by another.
 * @returns the kinds, and the modules that do not load, with the reason in one line.
 */
export async function tryKinds(config: Config, set: TrialSet): Promise<TriedKinds> {
  const broken: LoadedKinds['failed'] = [];
  let inTurn = false;
  for (;;) {
    const modules = set.modules.filter((one) => broken.every(({ module }) => module !== one));
    const trial = new KindTrial(config, { ...set, modules }, () => {});
    try {
      const { kinds, failed } = await trial.load(inTurn);
      const versions = await trial.versions(kinds);
      return { kinds, failed: [...broken, ...failed], versions, schemas: trial.schemas };
    } catch (thrown) {
      if (thrown instanceof KindUnclear) inTurn = true;
      else if (thrown instanceof KindBrokeHost) {
        broken.push(...thrown.modules.map((module) => ({ module, error: thrown.message })));
      } else throw thrown;
    } finally {
      await trial.close();
    }
  }
}
