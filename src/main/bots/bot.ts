import type { ClusterBots } from '../../cluster/cluster.js';
// Runs in main. Owns one bot: executes the effects of bot-life.ts with its host, the stream and the store.

import type { BotSpec, Isolation } from '../../shared/contract/bots.js';
import { ANY_PERMIT } from '../../shared/contract/command-messages.js';
import { AT_REST, type BotSnapshot } from '../../shared/contract/events.js';
import type { BotExit, LateError } from '../../shared/contract/host-messages.js';
import type { JsonObject } from '../../shared/contract/json.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { noBot } from '../../shared/no-bot.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { HostThread } from '../threads/host-thread.js';
import { logItem, type ServiceEvents } from '../threads/service-events.js';
import {
  type BotEffect,
  type BotEvent,
  type BotHold,
  type BotState,
  type HoldEvent,
  nextHold,
  nextStep,
} from './bot-life.js';
import { markDesired, shownFleet } from './fleet-mark.js';
import type { HostPool } from './host-pool.js';
import { KindHeld } from './kind-quarantine.js';
import { NoHostError } from './no-host.js';
import { type Operation, OperationSlot } from './operation-slot.js';
import { PublishedSnapshot } from './published-snapshot.js';
import { type Attempt, RestartBackoff, type RunEnd } from './restart-backoff.js';
import type { Lane, StartPace } from './start-pace.js';
import type { ShownUsage } from './usage-snapshots.js';

export interface BotDependencies {
  hosts: HostPool;
  pace: StartPace;
  events: ServiceEvents;
  /** The bot's own configuration with defaults filled in. Throws when it is no longer valid. */
  configFor(spec: BotSpec): JsonObject;
  /** The version of its kind with which it is started. */
  versionFor(spec: BotSpec): string;
  /** Stores the spec; it is on disk when this resolves. */
  save(spec: BotSpec): Promise<void>;
  /** Whether the bot's host is a thread or a process. */
  isolationOf(spec: Pick<BotSpec, 'kind' | 'isolation'>): Isolation;
  /** Called for a bot that is not restarted, when its last end has no incident report yet. */
  failed(id: string, reason: string): void;
  /** Called for each restart by the service, with the bot's kind. */
  restarted(kind: string): void;
  graceMs: number;
  cluster: ClusterBots;
}

/** An event of the bot's life with what its effects need. */
type Input =
  | { type: 'announced'; run: number; config: JsonObject }
  | { type: 'launchFailed'; run: number; end: LifeEnd }
  | { type: 'ended'; end: LifeEnd }
  | { type: 'placed'; host: HostThread }
  | { type: 'halt'; graceMs: number }
  | { type: 'rest' | 'giveUp' | 'hold' | 'delete'; patch: Partial<BotSnapshot> }
  | { type: 'retry'; patch: Partial<BotSnapshot>; waitMs: number }
  | { type: 'queue'; lane: Lane }
  | { type: Extract<BotEvent, 'show' | 'launch' | 'halted' | 'waitOver' | 'idle' | 'leave'> };

interface LifeEnd extends RunEnd {
  /** The kind of the bot is quarantined. */
  isHeld?: boolean;
  /** An incident report about the end exists. */
  isReported: boolean;
}

/** Longest `last_error`, in UTF-16 units. */
const MAX_ERROR_UNITS = 1024;
/** How much later than the host main gives up waiting for a bot to stop, in ms. */
const LATE_MS = 250;
/** A bot that waits less for its turn to start says nothing about it, in ms. */
const SHORT_WAIT_MS = 1000;
/** States of a bot that is about to run. */
const COMING: ReadonlySet<BotState> = new Set(['queued', 'placing', 'announcing']);
/** The status of a state where the two have different names. */
const SHOWN: Partial<Record<BotState, string>> = { queued: 'starting', held: 'failed' };
/** Number of the last run of any bot. */
let lastRun = 0;
/** The last permit of any bot. */
let lastPermit = ANY_PERMIT;

export class Bot {
  #spec: BotSpec;
  readonly #dependencies: BotDependencies;
  readonly #backoff = new RestartBackoff();
  readonly #snapshot: PublishedSnapshot;
  readonly #operations: OperationSlot;
  #state: BotState = 'stopped';
  #hold: BotHold = 'free';
  /** Why this node may not run the bot, while it is `kept` or `suspended`. */
  #keptBecause = '';
  /** The launch that is under way, by an operation or by the restart policy. */
  #launching: Promise<void> = Promise.resolve();
  #host: HostThread | undefined;
  /** Number of the last run. Events of earlier runs are ignored. */
  #run = 0;
  /** Runs up to this number belong to other bots, or to an earlier bot with this id. */
  readonly #foreignRuns = lastRun;
  /** The permit that commands of label-limited tokens carry. Each change of the labels makes a new one. */
  #permit: number;
  #startedAt = 0;
  /** The version of its kind in its last run. */
  #version = '';
  /** A run of the bot did not stop, or took its host down. From then on the bot has its own host. */
  #isIsolated = false;
  #timer: NodeJS.Timeout | undefined;
  /** The last run that had the status in which its kind is ready. */
  #readyRun = 0;
  /** Called after each change of the state. Bounded by the operations that wait for the bot. */
  readonly #watchers = new Set<() => void>();
  /** The bot's last place among those that wait for their turn to start. */
  #place: { lane: Lane; leave(): void } | undefined;

  constructor(spec: BotSpec, dependencies: BotDependencies) {
    lastPermit += 1;
    this.#permit = lastPermit;
    this.#spec = spec;
    this.#dependencies = dependencies;
    this.#snapshot = new PublishedSnapshot(spec, dependencies.events, dependencies.cluster);
    this.#operations = new OperationSlot(spec.id);
  }

  get id(): string {
    return this.#spec.id;
  }

  get spec(): Readonly<BotSpec> {
    return this.#spec;
  }

  /** The part of the snapshot that main owns. */
  get snapshot(): Readonly<BotSnapshot> {
    return this.#snapshot.value;
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  /** The bot has failed because its kind is quarantined, and starts when that ends. */
  get isHeld(): boolean {
    return this.#state === 'held';
  }

  get host(): HostThread | undefined {
    return this.#host;
  }

  /** The version of its kind that it runs; null while it has no host. */
  get version(): string | null {
    return this.#host ? this.#version : null;
  }

  /**
   * Stores a new bot and starts it if wanted. @param failed is called when it cannot be stored. @param lane null: it is shown at rest, and
   * somebody else starts it. @param stored resolves when it is on disk, with others.
   */
  create(failed: () => void, lane: Lane | null, stored?: Promise<void>): Promise<void> {
    return this.#operate('create', async () => {
      try {
        await (stored ?? this.#dependencies.save(this.#spec));
      } catch (thrown) {
        failed();
        throw thrown;
      }
      const isToRun = lane !== null && this.#spec.desired === 'running';
      if (isToRun && this.#refusal === null) return this.#enter(lane);
      await this.#send({ type: 'show' });
      if (isToRun) await this.#keep();
    });
  }

  /** Puts a bot with which the service starts on the stream, at rest. {@link begin} starts it. */
  show(): Promise<void> {
    return this.#send({ type: 'show' });
  }

  /**
   * Starts a bot that was shown, if it is meant to run. No other operation comes before.
   * @param isNew whether it has to be stored first. @param hold why it is not started now, even if it is meant to run.
   * @param turn when it is to begin.
   */
  begin(isNew: boolean, hold: string | null, turn: Promise<void>): Promise<void> {
    return this.#operate('create', async () => {
      await turn;
      if (isNew) await this.#dependencies.save(this.#spec);
      if (this.#spec.desired !== 'running') return;
      if (hold === null) await this.#enter('many');
      else await this.#explainRest(hold);
    });
  }

  /** Resolves when the bot runs, or waits for its turn to start. @throws DroverError `unavailable` when this node may not run it now. */
  start(lane: Lane): Promise<void> {
    return this.#operate('start', async () => {
      this.#expectToRun();
      await this.#setDesired('running');
      if (this.#state === 'running') return;
      this.#backoff.reset();
      await this.#enter(lane);
    });
  }

  stop(): Promise<void> {
    return this.#operate('stop', async () => {
      await this.#setDesired('stopped');
      await this.#halt();
    });
  }

  /** Resolves like {@link start}. */
  restart(lane: Lane): Promise<void> {
    return this.#operate('restart', async () => {
      this.#expectToRun();
      await this.#setDesired('running');
      await this.#halt();
      this.#backoff.reset();
      await this.#enter(lane);
    });
  }

  /**
   * Replaces the spec, and starts or stops the bot if it has another desired state. @param restart whether a bot that is
   * started, or waits for its restart, is restarted.
   */
  update(spec: BotSpec, restart: boolean, lane: Lane): Promise<void> {
    return this.#operate('update', async () => {
      await this.#dependencies.save(spec);
      const before = this.#spec;
      this.#spec = spec;
      if (JSON.stringify(before.labels) !== JSON.stringify(spec.labels)) {
        lastPermit += 1;
        this.#permit = lastPermit;
        await this.#host?.setPermit(this.id, this.#permit);
      }
      await this.#showSpec();
      const isStarted = spec.desired === 'running' && before.desired === 'stopped';
      if (spec.desired === 'stopped' && before.desired === 'running') return this.#halt();
      if (isStarted) this.#backoff.reset();
      if (this.#isAtRest) return isStarted ? this.#enter(lane) : undefined;
      if (!restart) return;
      await this.#halt();
      await this.#enter(lane);
    });
  }

  /**
   * Replaces the spec and starts a bot again that is to run: its run has ended before. Waits for the operation that is under way.
   * @param change makes the new spec; null leaves all as it is. Labels stay.
   */
  async roll(change: (spec: Readonly<BotSpec>) => BotSpec | null): Promise<void> {
    while (!this.#operations.isFree) await this.#operations.settled();
    if (this.#state === 'deleted' || this.#state === 'moved') throw noBot(this.id);
    await this.#operate('roll', async () => {
      const spec = change(this.#spec);
      if (!spec) return;
      await this.#dependencies.save(spec);
      this.#spec = spec;
      if (spec.desired !== 'running') return;
      await this.#halt();
      this.#backoff.reset();
      await this.#enter('one');
    });
  }

  /** Stops the bot for good. @param forget removes it from the store; when that fails the bot stays as it is. */
  delete(forget: () => Promise<void>): Promise<void> {
    return this.#operate('delete', async () => {
      await forget();
      await this.#halt();
      await this.#send({ type: 'delete', patch: { desired: 'stopped' } });
    });
  }

  /** Stops the bot at once and does not start it until {@link allowStart}. The desired state stays. */
  async keepStopped(reason: string): Promise<void> {
    this.#take(this.#isAtRest ? 'keep' : 'interrupt');
    this.#keptBecause = reason;
    await this.#end();
    if (this.#hold === 'suspended') await this.#snapshot.change({ last_error: reason });
  }

  /** Starts the bot again if it was kept from running. */
  async allowStart(): Promise<void> {
    if (this.#kept === null) return;
    this.#take('allow');
    if (this.#spec.desired !== 'running') this.#take('resumed');
    if (this.#snapshot.value.last_error === this.#keptBecause)
      await this.#snapshot.change({ last_error: null });
    // Meanwhile the bot may be kept again, and an operation that comes first may end without having started it.
    while (this.#isResuming) {
      await this.#operations.settled();
      await this.#operate('start', async () => {
        const resumes = this.#isResuming && this.#spec.desired === 'running';
        this.#take('resumed');
        if (resumes && this.#isAtRest) await this.#enter('many');
      }).catch(() => {});
    }
  }

  /** Gives the bot to another node. @param forget removes it from the store; when that fails the bot stays, and does not run. */
  async leave(forget: () => Promise<void>): Promise<void> {
    this.#take('leave');
    this.#keptBecause = 'it is on another node';
    await this.#end();
    await this.#operate('move', async () => {
      await forget();
      await this.#halt();
      await this.#send({ type: 'leave' });
    });
  }

  /** This node has the bot for this term from now on. */
  async assignTerm(term: number): Promise<void> {
    const spec = { ...this.#spec, term };
    await this.#dependencies.save(spec);
    this.#spec = spec;
    await this.#showSpec();
  }

  /**
   * Stops the bot because the service shuts down; what is desired of it stays. Waits for the operation that is under
   * way. The deadline is main's: a host that hangs does not answer, and the operation's own limit may be longer.
   */
  async shutDown(graceMs: number): Promise<void> {
    this.#take('close');
    await withTimeout(
      this.#operations.settled().then(() => this.#halt(graceMs)),
      graceMs + LATE_MS,
      () => {},
    );
  }

  /** Restarts the bot on another host, because its own is being replaced through no fault of the bot. */
  async move(from: HostThread): Promise<void> {
    while (this.#host === from && !this.#isClosing) {
      const moved = this.#operate('restart', async () => {
        if (this.#host !== from) return;
        await this.#halt();
        this.#countRestart();
        await this.#enter('many');
      });
      // When another operation is under way it ends first, and may have moved the bot.
      await moved.catch(() => this.#operations.settled());
    }
  }

  /** To be called when a run does not stop: from its next start on the bot has its own host. */
  didNotStop(): void {
    this.#isolate('its last run did not stop');
  }

  /** Gives the bot its own host, if it shares one. The bot stays when no further host may be started. */
  async isolate(host: HostThread, reason: string): Promise<void> {
    if (this.#host !== host || this.#isAlone(host)) return;
    const refusal = await this.#moveToOwn(host, reason);
    if (refusal !== null) this.#log('warn', `${reason}, and cannot have its own: ${refusal}`);
  }

  /**
   * To be called when the bot is over its hard quota. It gets its own host. A bot that has one already, or that of a group, or
   * that can get none, is stopped and fails.
   * @param stopped is called before that.
   */
  async overQuota(host: HostThread, reason: string, stopped: (why: string) => void): Promise<void> {
    if (this.#host !== host || this.#isClosing) return;
    const isGrouped = this.#spec.host_group !== undefined;
    let why = `${reason}, ${isGrouped ? 'on the bot host of its group' : 'alone on its bot host'}`;
    if (!this.#isAlone(host)) {
      const refusal = await this.#moveToOwn(host, reason);
      if (refusal === null) return;
      why = `${reason}, and cannot have its own bot host: ${refusal}`;
    }
    await this.#operate('stop', async () => {
      if (this.#host !== host) return;
      stopped(why);
      this.#log('error', `stopped: ${why}`);
      await this.#halt();
      await this.#send({ type: 'giveUp', patch: { last_error: why.slice(0, MAX_ERROR_UNITS) } });
    });
  }

  /** @throws DroverError `conflict` when it does not run. */
  commandTarget(): { host: number; permit: number } {
    if (this.#state !== 'running' || !this.#host) {
      throw new DroverError('conflict', `bot ${this.id} is not running`);
    }
    return { host: this.#host.number, permit: this.#permit };
  }

  /** To be called when the bot of a run has the status in which its kind is ready. */
  ready(run: number): void {
    if (run !== this.#run) return;
    this.#readyRun = run;
    this.#tellWatchers();
  }

  /**
   * Resolves when a bot that was started is healthy: it has the status in which its kind is ready or, where the kind names none, has
   * run for so long. Its turn to start, and its wait for a host, do not count.
   * @param ready that status. @returns false when the signal is aborted before.
   * @throws DroverError `conflict` with the reason when it ends before, or is not ready within that time.
   */
  async whenHealthy(
    ready: string | undefined,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    let runsSince: number | undefined;
    for (;;) {
      if (signal.aborted) return false;
      if (this.#state === 'running') {
        if (ready !== undefined && this.#readyRun === this.#run) return true;
        runsSince ??= performance.now();
        const left = withinMs - (performance.now() - runsSince);
        if (left <= 0 && ready === undefined) return true;
        if (left <= 0) throw unhealthy(`it did not get the status ${ready} within ${withinMs} ms`);
        await this.#change(signal, left);
      } else if (this.#state === 'ended' || (COMING.has(this.#state) && runsSince === undefined)) {
        await this.#change(signal);
      } else throw unhealthy(this.snapshot.last_error ?? `it is ${this.snapshot.status}`);
    }
  }

  /** Resolves after the next change of the state, after so long, or when the signal is aborted. */
  async #change(signal: AbortSignal, withinMs?: number): Promise<void> {
    const changed = new Deferred();
    const resolve = (): void => changed.resolve();
    this.#watchers.add(resolve);
    signal.addEventListener('abort', resolve);
    const timer = withinMs === undefined ? undefined : setTimeout(resolve, withinMs);
    await changed.promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', resolve);
    this.#watchers.delete(resolve);
  }

  #tellWatchers(): void {
    for (const tell of [...this.#watchers]) tell();
  }

  /** To be called when the host was lost. That counts against a suspect; any other bot is restarted regardless of its policy. */
  hostLost(error: string, suspected: boolean): void {
    if (suspected) this.#isolate('its bot host was lost because of it');
    this.#ended({ error, restart: true, cause: suspected ? 'bot' : 'host', isReported: true });
  }

  /** To be called when the run ended by itself. An error has been reported as an incident. */
  exited({ error, restart }: Pick<BotExit, 'error' | 'restart'>): void {
    this.#ended({ error, restart, cause: 'bot', isReported: error !== null });
  }

  /** A run that is over has thrown, in code that it has left behind, or has left something open. */
  lateError({ run, error, isLeftOpen }: LateError): void {
    if (run <= this.#foreignRuns) return;
    if (isLeftOpen) this.#log('warn', `its run has ended and left open: ${error}; it is ended now`);
    else this.#log('error', `error after the end of its run: ${error}`);
  }

  /** Shows in the snapshot what the bot uses, while it runs. */
  showUsage(shown: ShownUsage): void {
    if (this.isRunning) this.#snapshot.change(shown).catch(() => {});
  }

  /** Whether this is the number of the run that the host has now. */
  isRun(run: number): boolean {
    return run === this.#run && this.#host !== undefined;
  }

  /** @returns why the bot can get no host, null when it has moved. */
  async #moveToOwn(host: HostThread, reason: string): Promise<string | null> {
    try {
      this.#dependencies.hosts.admitSuspect();
    } catch (thrown) {
      return messageOf(thrown);
    }
    this.#isolate(reason);
    await this.move(host);
    return null;
  }

  #isAlone(host: HostThread): boolean {
    const { dedicated, host_group: group } = this.#spec;
    // A bot of a group shares the fate of the group.
    return dedicated || group !== undefined || this.#isIsolated || host.onlyBot === this.id;
  }

  get #hasFailed(): boolean {
    return this.#state === 'failed' || this.#state === 'held';
  }

  get #isAtRest(): boolean {
    return this.#state === 'stopped' || this.#hasFailed;
  }

  get #isResuming(): boolean {
    return this.#hold === 'resuming';
  }

  get #isClosing(): boolean {
    return this.#hold === 'closing';
  }

  /** Why this node may not run the bot, as far as is known; null when it may. */
  get #kept(): string | null {
    return this.#hold === 'kept' || this.#hold === 'suspended' ? this.#keptBecause : null;
  }

  #take(event: HoldEvent): void {
    this.#hold = nextHold(this.#hold, event);
  }

  /** Ends the run, also one that begins with an operation under way. */
  async #end(): Promise<void> {
    if (!this.#hasFailed) await this.#halt();
    await this.#operations.settled();
    if (!this.#hasFailed) await this.#halt();
  }

  async #showSpec(): Promise<void> {
    const spec = this.#spec;
    const stayed = this.#stays;
    const place = this.#dependencies.cluster.shown(spec);
    const { labels, desired } = spec;
    await this.#snapshot.change({ labels, desired, ...place, ...shownFleet(spec) });
    if (this.#stays !== stayed) this.#host?.exemptFromLease(this.id, this.#stays);
  }

  /** Whether the bot keeps its connections when the node loses its lease. */
  get #stays(): boolean {
    const { failover = 'restart' } = this.#snapshot.value;
    return failover !== 'restart';
  }

  async #explainRest(reason: string): Promise<void> {
    this.#log('warn', reason);
    await this.#snapshot.change({ last_error: reason.slice(0, MAX_ERROR_UNITS) });
  }

  #ended(end: LifeEnd): void {
    void this.#send({ type: 'ended', end });
  }

  #operate(name: Operation, task: () => Promise<void>): Promise<void> {
    return this.#operations.run(
      name,
      async () => {
        // A restart that is under way completes first.
        await this.#launching;
        await task();
      },
      () => void this.#send({ type: 'idle' }),
    );
  }

  #halt(graceMs = this.#dependencies.graceMs): Promise<void> {
    return this.#send({ type: 'halt', graceMs });
  }

  async #setDesired(desired: BotSpec['desired']): Promise<void> {
    if (this.#spec.desired === desired) return;
    const { fleet, desired: before } = this.#spec;
    const spec = {
      ...this.#spec,
      desired,
      ...(fleet && { fleet: markDesired(fleet, before, desired) }),
    };
    await this.#dependencies.save(spec);
    this.#spec = spec;
    await this.#snapshot.change({ desired, ...shownFleet(spec) });
  }

  /** The state changes before this returns; it resolves when the effects, and the events that they led to, are done. */
  async #send(input: Input): Promise<void> {
    if ('run' in input && input.run !== this.#run) return;
    const { to, effects } = nextStep(this.#state, input.type, this.#isClosing);
    this.#state = to;
    this.#tellWatchers();
    await Promise.all(effects.map((effect) => this.#perform(effect, input)));
  }

  #perform(effect: BotEffect, input: Input): Promise<void> | undefined {
    switch (effect) {
      case 'launch':
        this.#launching = this.#launch();
        return this.#launching;
      case 'occupy':
        if ('host' in input) this.#host = input.host;
        // Health is measured from here, because the bot may have waited long for a host.
        this.#startedAt = Date.now();
        return;
      case 'returnPlace':
        if ('host' in input) this.#dependencies.hosts.leave(input.host);
        return;
      case 'run':
        if ('config' in input) return this.#startRun(input.config);
        return;
      case 'stop':
        if ('graceMs' in input) return this.#stopRun(input.graceMs);
        return;
      case 'release':
        if (this.#host) this.#dependencies.hosts.leave(this.#host);
        this.#host = undefined;
        return;
      case 'decide':
        if ('end' in input) return this.#decide(input.end);
        return;
      case 'wait':
        if ('lane' in input) this.#awaitTurn(input.lane);
        else if ('waitMs' in input) this.#wait(input.waitMs);
        return;
      case 'cancelWait':
        clearTimeout(this.#timer);
        this.#place?.leave();
        return;
      case 'countRestart':
        this.#countRestart();
        return;
      case 'announce':
        return this.#announce('patch' in input ? input.patch : {});
    }
  }

  /** Why this node may not run the bot, null when it may. With a reason the bot waits for {@link allowStart}. */
  get #refusal(): string | null {
    if (this.#kept === null) {
      const reason = this.#dependencies.cluster.refusal(this.#spec);
      if (reason === null) return null;
      this.#take('keep');
      this.#keptBecause = reason;
    }
    return this.#keptBecause;
  }

  #expectToRun(): void {
    const reason = this.#refusal;
    if (reason !== null) throw new DroverError('unavailable', `bot ${this.id}: ${reason}`, 1);
  }

  /** Marks the bot as one that would run: {@link allowStart} starts it. */
  async #keep(): Promise<void> {
    this.#take('postpone');
    const last_error = this.#keptBecause;
    if (this.#snapshot.value.last_error !== last_error) await this.#snapshot.change({ last_error });
  }

  /** Launches the bot, or lets it wait for its turn. */
  async #enter(lane: Lane): Promise<void> {
    if (this.#refusal !== null) return this.#keep();
    // After a second request the bot keeps its place, unless it gets a better one.
    if (this.#state === 'queued' && (lane === 'many' || this.#place?.lane === 'one')) return;
    const isNow = this.#dependencies.pace.tryTake(this.#spec.kind, lane);
    await this.#send(isNow ? { type: 'launch' } : { type: 'queue', lane });
  }

  /** Every start comes here, also those of the restart policy and those after a wait. Never rejects. */
  async #launch(): Promise<void> {
    if (this.#refusal !== null) {
      await this.#halt();
      return this.#keep();
    }
    lastRun += 1;
    const run = lastRun;
    this.#run = run;
    this.#startedAt = Date.now();
    const { id, kind, host_group: group } = this.#spec;
    const { hosts } = this.#dependencies;
    try {
      const config = this.#dependencies.configFor(this.#spec);
      const stuck = await hosts.clear(id);
      if (stuck !== null) {
        this.#log(
          'warn',
          `starts while the thread of bot host ${stuck} does not end: what its last run had open there stays open until then`,
        );
      }
      const { dedicated } = this.#spec;
      const isSuspect = this.#isIsolated && group === undefined;
      const isolation = this.#dependencies.isolationOf(this.#spec);
      const version = this.#dependencies.versionFor(this.#spec);
      this.#version = version;
      const wanted = { id, kind, version, dedicated, isSuspect, isolation, group };
      const host = await hosts.place(wanted);
      await this.#send({ type: 'placed', host });
      await this.#send({ type: 'announced', run, config });
    } catch (thrown) {
      const isHeld = thrown instanceof KindHeld;
      // The kind is gone, or the configuration is no longer valid: the next try would fail the same way.
      const hopeless = thrown instanceof DroverError && thrown.code === 'bad_request';
      const end = {
        error: messageOf(thrown),
        restart: !hopeless && !isHeld,
        cause: thrown instanceof NoHostError ? ('no host' as const) : ('bot' as const),
        isReported: isHeld,
        isHeld,
      };
      await this.#send({ type: 'launchFailed', run, end });
    }
  }

  async #startRun(config: JsonObject): Promise<void> {
    const { id, kind, term } = this.#spec;
    const cluster = {
      ...(this.#stays && { stays: true }),
      ...(term !== undefined && { term }),
    };
    const permit = this.#permit;
    await this.#host?.startBot({ id, run: this.#run, kind, config, permit, ...cluster });
  }

  async #stopRun(graceMs: number): Promise<void> {
    await this.#host?.stopBot(this.id, graceMs);
    await this.#send({ type: 'halted' });
  }

  async #decide(end: LifeEnd): Promise<void> {
    if (end.error !== null) this.#log('error', end.error);
    const { restart, desired } = this.#spec;
    const now = Date.now();
    const verdict = this.#backoff.decide(restart, desired, end, now, now - this.#startedAt);
    if (verdict.type === 'retry') this.#log('info', nextTryText(verdict.waitMs, verdict.attempt));
    if (verdict.type !== 'giveUp') {
      const patch = {
        last_error: end.error?.slice(0, MAX_ERROR_UNITS) ?? null,
        ...(verdict.type === 'retry' && {
          next_try: nextTry(now + verdict.waitMs, verdict.attempt),
        }),
      };
      return this.#send({ ...verdict, patch });
    }
    const { reason, limit } = verdict;
    if (limit) this.#log('error', reason);
    if (!end.isReported) this.#dependencies.failed(this.id, reason);
    const patch = { last_error: reason.slice(0, MAX_ERROR_UNITS) };
    return this.#send({ type: end.isHeld ? 'hold' : 'giveUp', patch });
  }

  /** Waits for so long, then for the bot's turn. */
  #wait(waitMs: number): void {
    this.#timer = setTimeout(() => {
      if (this.#dependencies.pace.tryTake(this.#spec.kind, 'many')) this.#waitOver();
      else this.#awaitTurn('many');
    }, waitMs);
  }

  #awaitTurn(lane: Lane): void {
    const place = this.#dependencies.pace.join(this.#spec.kind, lane, () => this.#waitOver());
    const { ahead, waitMs, setting, leave } = place;
    this.#place = { lane, leave };
    if (waitMs < SHORT_WAIT_MS) return;
    const wait = Math.round(waitMs / 1000);
    this.#log(
      'info',
      `waits for its turn to start: about ${wait} s, bots before it: ${ahead} (${setting})`,
    );
  }

  #waitOver(): void {
    void this.#send({ type: 'waitOver' });
    // An operation that is under way may stop the bot; if it has not by its end, the bot is restarted then.
    if (this.#operations.isFree) void this.#send({ type: 'idle' });
  }

  #countRestart(): void {
    this.#snapshot.countRestart();
    this.#dependencies.restarted(this.#spec.kind);
  }

  #announce(patch: Partial<BotSnapshot>): Promise<void> {
    if (this.#state !== 'announcing') {
      return this.#snapshot.transition(SHOWN[this.#state] ?? this.#state, { ...AT_REST, ...patch });
    }
    const { kind, desired, labels } = this.#spec;
    return this.#snapshot.transition('starting', {
      ...this.#snapshot.value,
      kind,
      desired,
      labels,
      data: {},
      ...AT_REST,
      started_at_ms: this.#startedAt,
      host: this.#host?.number ?? null,
      version: this.version,
    });
  }

  #isolate(reason: string): void {
    if (this.#isIsolated || this.#spec.host_group !== undefined) return;
    this.#isIsolated = true;
    this.#log('warn', `${reason}; from now on it has its own bot host`);
  }

  #log(level: 'info' | 'warn' | 'error', message: string): void {
    this.#dependencies.events.tell(logItem(level, 'bot', message, this.id));
  }
}

function unhealthy(reason: string): DroverError {
  return new DroverError('conflict', reason);
}

/** `starts again in 8 s (attempt 3 of 5)`. */
function nextTryText(waitMs: number, which: Attempt | null): string {
  const wait = waitMs < 1000 ? `${waitMs} ms` : `${Math.round(waitMs / 1000)} s`;
  if (which === null) return `starts again in ${wait}`;
  const { attempt, limit } = which;
  return `starts again in ${wait} (attempt ${attempt}${limit === null ? '' : ` of ${limit}`})`;
}

function nextTry(at_ms: number, which: Attempt | null): NonNullable<BotSnapshot['next_try']> {
  return { at_ms, ...(which ?? { attempt: null, limit: null }) };
}
