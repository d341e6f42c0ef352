// Runs in main. Owns one bot: what is wanted of it, what it does, and the way from one to the other.
//
//            start                    the host has it
//   stopped ───────► starting ───────────────► running ──── its run ends ──► stopped, failed or backoff
//      ▲                ▲                         │                                       │
//      │ stop           └──────── the wait is over, up to the policy's limit ◄────────────┘
//      └──────────── stopping ◄───────────────────┘
//
// One operation at a time. The same operation asked for again while it is under way has the same result; another one is
// a conflict. What the bot does by itself (ending, being restarted) is no operation: an operation waits for it.

import { setTimeout as delay } from 'node:timers/promises';
import type { BotSpec, RestartPolicy } from '../../shared/contract/bots.js';
import type { BotSnapshot, Json, JsonObject } from '../../shared/contract/events.js';
import type { BotExit } from '../../shared/contract/threads.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { logItem, type ServiceEvents, sessionItem } from '../service-events.js';
import type { HostThread } from '../threads/host-thread.js';
import { type HostPool, NoPlace } from './host-pool.js';
import { RestartBackoff, type RestartDecision } from './restart-backoff.js';

/** What a bot needs of its surroundings. */
export interface BotWorld {
  hosts: HostPool;
  events: ServiceEvents;
  /** What the kind gets: the bot's own configuration with defaults filled in. Throws when it is not valid any more. */
  configFor(spec: BotSpec): JsonObject;
  /** Keeps the spec; it is on disk when this resolves. */
  save(spec: BotSpec): Promise<void>;
  /** Is told of a bot that is not started again, where what it ended with last has no dossier yet. */
  failed(id: string, reason: string): void;
  /** Is told of each restart by the service, with the bot's kind. */
  restarted(kind: string): void;
  graceMs: number;
}

/** What has ended a run, or kept it from beginning, as far as can be told. */
type EndCause = 'itself' | 'others' | 'no place';
type Phase = 'stopped' | 'starting' | 'running' | 'stopping' | 'backoff' | 'failed';
export type Operation = 'create' | 'start' | 'stop' | 'restart' | 'update' | 'delete';

/** Longest `last_error`, in UTF-16 units. */
const MAX_ERROR_UNITS = 1024;
/** How much later than the host main gives up waiting for a bot to stop, in ms. */
const LATE_MS = 250;
/** Number of the last run of any bot. */
let lastRun = 0;
const NOT_RUNNING: Partial<BotSnapshot> = { started_at_ms: null, host: null };

export class Bot {
  #spec: BotSpec;
  readonly #world: BotWorld;
  readonly #backoff = new RestartBackoff();
  /** What main knows of the snapshot; while it runs its host knows better of `status`, `since_ms` and `data`. */
  readonly #snapshot: BotSnapshot;
  #phase: Phase = 'stopped';
  #operation: { name: Operation; done: Promise<void> } | undefined;
  /** A start that is under way, the operator's or a restart. */
  #launching: Promise<void> = Promise.resolve();
  #host: HostThread | undefined;
  /** Number of its last run, so that an exit that crosses with a new start is told from its own. */
  #run = 0;
  /** A run of it did not end when it was to, or took its host with it: from then on it has a host of its own. */
  #apart = false;
  #shuttingDown = false;
  #startedAt = 0;
  /** Whether it has been on the stream. */
  #shown = false;
  /** Of a bot in `backoff`: undefined when the wait is over. */
  #timer: NodeJS.Timeout | undefined;

  constructor(spec: BotSpec, world: BotWorld) {
    this.#spec = spec;
    this.#world = world;
    this.#snapshot = {
      id: spec.id,
      kind: spec.kind,
      status: 'stopped',
      desired: spec.desired,
      since_ms: Date.now(),
      restarts: 0,
      started_at_ms: null,
      host: null,
      last_error: null,
      labels: spec.labels,
      data: {},
    };
  }

  get id(): string {
    return this.#spec.id;
  }

  get spec(): Readonly<BotSpec> {
    return this.#spec;
  }

  /** What main knows of its snapshot. */
  get snapshot(): Readonly<BotSnapshot> {
    return this.#snapshot;
  }

  get isRunning(): boolean {
    return this.#phase === 'running';
  }

  get host(): HostThread | undefined {
    return this.#host;
  }

  /** Puts a new bot on the disk and begins. @param failed is called when it cannot be kept. */
  create(failed: () => void): Promise<void> {
    return this.#operate('create', async () => {
      try {
        await this.#world.save(this.#spec);
      } catch (thrown) {
        failed();
        throw thrown;
      }
      await this.#begin();
    });
  }

  /** Brings back a bot that is on the disk. @param rests why it is not started now, whatever is wanted of it. */
  restore(rests: string | null): Promise<void> {
    return this.#operate('create', async () => {
      if (rests === null || this.#spec.desired === 'stopped') return this.#begin();
      await this.#transition('stopped', {});
      this.#world.events.tell(logItem('info', 'bot', rests, this.id));
    });
  }

  start(): Promise<void> {
    return this.#operate('start', async () => {
      await this.#want('running');
      if (this.#phase === 'running') return;
      this.#backoff.reset();
      await this.#launch();
    });
  }

  stop(): Promise<void> {
    return this.#operate('stop', async () => {
      await this.#want('stopped');
      await this.#halt(this.#world.graceMs);
    });
  }

  restart(): Promise<void> {
    return this.#operate('restart', async () => {
      await this.#want('running');
      await this.#halt(this.#world.graceMs);
      this.#backoff.reset();
      await this.#launch();
    });
  }

  /** Takes over a changed spec. A bot that runs is restarted when its configuration has changed. */
  update(spec: BotSpec, restart: boolean): Promise<void> {
    return this.#operate('update', async () => {
      await this.#world.save(spec);
      this.#spec = spec;
      await this.#publish({ labels: spec.labels });
      if (!restart || this.#phase === 'stopped' || this.#phase === 'failed') return;
      await this.#halt(this.#world.graceMs);
      await this.#launch();
    });
  }

  /** Stops the bot for good; `forget` takes it off the disk. */
  delete(forget: () => Promise<void>): Promise<void> {
    return this.#operate('delete', async () => {
      await this.#halt(this.#world.graceMs);
      await forget();
      await this.#transition('deleted', { ...NOT_RUNNING, desired: 'stopped' });
    });
  }

  /**
   * Stops the bot because the service ends; what is wanted of it stays. Waits for an operation that is under way, but
   * main keeps the deadline here: a host that hangs answers nothing, and the operation's own limit may be longer.
   */
  async shutDown(graceMs: number): Promise<void> {
    this.#shuttingDown = true;
    const late = new AbortController();
    const halt = async (): Promise<void> => {
      await this.#operation?.done.catch(() => {});
      await this.#halt(graceMs);
    };
    const limit = delay(graceMs + LATE_MS, undefined, { signal: late.signal }).catch(() => {});
    await Promise.race([halt(), limit]);
    late.abort();
  }

  /** Goes on on another host, because its own is being replaced through no fault of its own. */
  async move(from: HostThread): Promise<void> {
    while (this.#host === from && !this.#shuttingDown) {
      const moved = this.#operate('restart', async () => {
        if (this.#host !== from) return;
        await this.#halt(this.#world.graceMs);
        this.#countRestart();
        await this.#launch();
      });
      // Another operation is under way: it ends first, and may have brought the bot elsewhere.
      await moved.catch(() => this.#operation?.done.catch(() => {}));
    }
  }

  /** Runs a command. @throws DroverError `conflict` when the bot does not run. */
  invoke(
    command: string,
    args: JsonObject,
    timeoutMs: number,
    cancelled: AbortSignal,
  ): Promise<Json> {
    if (this.#phase !== 'running' || !this.#host) {
      throw new DroverError('conflict', `bot ${this.id} is not running`);
    }
    this.#host.remember(`${command} on ${this.id}`);
    const input = { id: this.id, command, args, timeoutMs };
    return this.#host.peer.cancellableCall('invoke', input, cancelled);
  }

  /** Its host was lost. The suspect answers for that; the others come back whatever their policy and their past. */
  hostLost(error: string, suspected: boolean): void {
    if (suspected && !this.#apart) {
      this.#apart = true;
      const line = 'its bot host was lost because of it; from now on it has a bot host of its own';
      this.#world.events.tell(logItem('warn', 'bot', line, this.id));
    }
    this.ended({ error, restart: true }, suspected);
  }

  /** Its run has ended by itself, or its host was lost; `charged`: by its own fault, as far as can be told. */
  ended(exit: Pick<BotExit, 'error' | 'restart'>, charged = true): void {
    this.#leaveHost();
    // A stop is under way: it ends what was running, and says so.
    if (this.#phase === 'stopping') return;
    void this.#decide(exit, charged ? 'itself' : 'others', exit.error !== null);
  }

  isRun(run: number): boolean {
    return run === this.#run && this.#host !== undefined;
  }

  /** Shows the bot for the first time, and starts it when that is wanted. */
  async #begin(): Promise<void> {
    if (this.#spec.desired === 'running') await this.#launch();
    else await this.#transition('stopped', {});
  }

  #operate(name: Operation, task: () => Promise<void>): Promise<void> {
    const under = this.#operation;
    if (under) {
      if (under.name === name && name !== 'update') return under.done;
      const message = `bot ${this.id} is busy with another operation (${under.name})`;
      return Promise.reject(new DroverError('conflict', message));
    }
    const done = (async () => {
      try {
        // A restart that is just under way is brought to its end first.
        await this.#launching;
        await task();
      } finally {
        this.#operation = undefined;
        // The wait for a restart has ended meanwhile, and the operation has not decided otherwise.
        if (this.#timer === undefined) this.#resume();
      }
    })();
    this.#operation = { name, done };
    return done;
  }

  async #want(desired: BotSpec['desired']): Promise<void> {
    if (this.#spec.desired === desired) return;
    const spec = { ...this.#spec, desired };
    await this.#world.save(spec);
    this.#spec = spec;
    await this.#publish({ desired });
  }

  #launch(): Promise<void> {
    this.#launching = this.#launchNow();
    return this.#launching;
  }

  async #launchNow(): Promise<void> {
    clearTimeout(this.#timer);
    this.#phase = 'starting';
    this.#startedAt = Date.now();
    const { id, kind, dedicated, desired, labels } = this.#spec;
    try {
      const config = this.#world.configFor(this.#spec);
      if (await this.#world.hosts.clear(id)) {
        this.#apart = true;
        const line = 'its last run did not stop; from now on it has a bot host of its own';
        this.#world.events.tell(logItem('warn', 'bot', line, id));
      }
      const host = await this.#world.hosts.place({ id, kind, dedicated: dedicated || this.#apart });
      // The service ends; whatever else there is waits for a launch.
      if (this.#phase !== 'starting' || this.#shuttingDown) return this.#world.hosts.leave(host);
      // Its health counts from here: it may have waited long for a place.
      this.#startedAt = Date.now();
      this.#host = host;
      lastRun += 1;
      this.#run = lastRun;
      const base = { ...this.#snapshot, kind, desired, labels, data: {} };
      await this.#transition('starting', {
        ...base,
        started_at_ms: this.#startedAt,
        host: host.number,
      });
      // The host may have been lost in the meantime (its bots are told so one by one), or the service ends.
      if (this.#phase !== 'starting' || this.#host !== host || this.#shuttingDown) return;
      this.#phase = 'running';
      await host.startBot({ id, run: this.#run, kind, config });
    } catch (thrown) {
      if (this.#shuttingDown) return;
      // A host that was lost has told of its bots already, and then the phase is another.
      if (this.#phase !== 'starting' && !this.#host) return;
      this.#leaveHost();
      // Of a kind that is gone, or with a configuration that is not valid any more: it would be the same again.
      const hopeless = thrown instanceof DroverError && thrown.code === 'bad_request';
      const cause = thrown instanceof NoPlace ? 'no place' : 'itself';
      await this.#decide({ error: messageOf(thrown), restart: !hopeless }, cause, false);
    }
  }

  /** Brings the bot to rest, wherever it is. */
  async #halt(graceMs: number): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#phase === 'stopped') return;
    const host = this.#host;
    this.#phase = 'stopping';
    await host?.stopBot(this.id, graceMs);
    this.#leaveHost();
    this.#phase = 'stopped';
    await this.#transition('stopped', NOT_RUNNING);
  }

  /**
   * What becomes of a bot whose run has ended: by what is wanted, its policy, and its past.
   * @param cause what ended it, as far as can be told; only its own end is charged to it. @param dossier there is one.
   */
  async #decide(
    { error, restart }: Pick<BotExit, 'error' | 'restart'>,
    cause: EndCause,
    dossier: boolean,
  ): Promise<void> {
    const policy = this.#spec.restart;
    const lastError = error?.slice(0, MAX_ERROR_UNITS) ?? null;
    if (error !== null) this.#world.events.tell(logItem('error', 'bot', error, this.id));
    const wanted = cause !== 'itself' || (restart && wantsRestart(policy, error));
    if (this.#spec.desired === 'stopped' || !wanted) {
      this.#phase = error === null ? 'stopped' : 'failed';
      if (error !== null && !dossier) this.#world.failed(this.id, error);
      await this.#transition(this.#phase, { ...NOT_RUNNING, last_error: lastError });
      return;
    }
    const now = Date.now();
    const decision = this.#decision(cause, now, now - this.#startedAt);
    if (!decision.restart) {
      this.#phase = 'failed';
      const reason = `${decision.reason}; last: ${error ?? 'its run returned'}`;
      this.#world.events.tell(logItem('error', 'bot', reason, this.id));
      if (!dossier) this.#world.failed(this.id, reason);
      const last_error = reason.slice(0, MAX_ERROR_UNITS);
      await this.#transition('failed', { ...NOT_RUNNING, last_error });
      return;
    }
    this.#phase = 'backoff';
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      // An operation that is under way may decide otherwise; when it has ended and has not, the bot is restarted.
      if (!this.#operation) this.#resume();
    }, decision.waitMs);
    await this.#transition('backoff', { ...NOT_RUNNING, last_error: lastError });
  }

  #decision(cause: EndCause, now: number, ranMs: number): RestartDecision {
    const policy = this.#spec.restart;
    if (cause === 'itself') return this.#backoff.next(policy, now, ranMs);
    if (cause === 'others')
      return { restart: true, waitMs: this.#backoff.uncharged(policy, ranMs) };
    return { restart: true, waitMs: this.#backoff.noPlace(policy) };
  }

  /** Restarts a bot whose wait is over. */
  #resume(): void {
    if (this.#phase !== 'backoff' || this.#shuttingDown) return;
    this.#countRestart();
    void this.#launch();
  }

  #countRestart(): void {
    this.#snapshot.restarts += 1;
    this.#world.restarted(this.#snapshot.kind);
  }

  #leaveHost(): void {
    if (!this.#host) return;
    this.#world.hosts.leave(this.#host);
    this.#host = undefined;
  }

  /** One state transition: one line and one `session` event (interface-seed §3). */
  async #transition(status: string, patch: Partial<BotSnapshot>): Promise<void> {
    // The broadcaster knows nothing of a bot until it is told all.
    const known = this.#shown ? {} : this.#snapshot;
    this.#shown = true;
    const change = { ...known, ...patch, status, since_ms: Date.now() };
    Object.assign(this.#snapshot, change);
    await this.#world.events.publish(
      logItem('state', 'bot', status, this.id),
      sessionItem(this.id, change),
    );
  }

  async #publish(patch: Partial<BotSnapshot>): Promise<void> {
    Object.assign(this.#snapshot, patch);
    await this.#world.events.publish(sessionItem(this.id, patch));
  }
}

function wantsRestart({ policy }: RestartPolicy, error: string | null): boolean {
  return policy === 'always' || (policy === 'on-failure' && error !== null);
}
