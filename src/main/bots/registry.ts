// Runs in main. Owns the registry of bots: which there are, and what may be asked of them.

import { randomBytes } from 'node:crypto';
import {
  type ActionOutcome,
  BOT_ID,
  type BotAction,
  type BotActionsBody,
  type BotSpec,
  type CreateBotBody,
  type Incident,
  type IncidentBot,
  type RestartPolicy,
  type UpdateBotBody,
} from '../../shared/contract/bots.js';
import type { BotSnapshot } from '../../shared/contract/events.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { hasLabels } from '../../shared/contract/labels.js';
import { answerable } from '../../shared/contract/rpc.js';
import { keepSecretsInLists } from '../../shared/contract/secrets.js';
import type { BotExit, HostedState } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import { logItem, SERVICE_SCOPE } from '../service-events.js';
import type { BotStore } from '../store/bot-store.js';
import type { ShowIncident } from '../store/incident-store.js';
import type { HostThread } from '../threads/host-thread.js';
import { Bot, type BotDependencies } from './bot.js';
import type { Incidents } from './incidents.js';
import type { KindSchemas } from './kind-schemas.js';

export class BotRegistry {
  readonly #bots = new Map<string, Bot>();
  readonly #dependencies: BotDependencies;
  readonly #schemas: KindSchemas;
  readonly #store: BotStore;
  readonly #incidents: Incidents;
  /** What a bot's restart policy is where it does not say. */
  readonly #defaults: RestartPolicy;

  constructor(
    dependencies: Omit<BotDependencies, 'save' | 'configFor' | 'failed'>,
    schemas: KindSchemas,
    store: BotStore,
    incidents: Incidents,
    defaults: RestartPolicy,
  ) {
    this.#dependencies = {
      ...dependencies,
      configFor: ({ kind, config }) => schemas.checkConfig(kind, config),
      save: (spec) => store.put(spec),
      failed: (suspect, reason) =>
        void incidents.report({ type: 'failed', reason, suspect, stack: null }, undefined, [
          suspect,
        ]),
    };
    this.#schemas = schemas;
    this.#store = store;
    this.#incidents = incidents;
    this.#defaults = defaults;
  }

  get size(): number {
    return this.#bots.size;
  }

  /** How many run. */
  get running(): number {
    let running = 0;
    for (const bot of this.#bots.values()) if (bot.isRunning) running += 1;
    return running;
  }

  ids(): string[] {
    return [...this.#bots.keys()];
  }

  /** Undefined when there is no such bot. */
  labelsOf(id: string): Readonly<Record<string, string>> | undefined {
    return this.#bots.get(id)?.spec.labels;
  }

  /** Who has this id now. Undefined when there is no such bot. */
  identityOf(id: string): IncidentBot | undefined {
    const spec = this.#bots.get(id)?.spec;
    return spec && { id, incarnation: spec.incarnation ?? '', labels: spec.labels };
  }

  /** Undefined when there is no such bot. */
  isRunning(id: string): boolean | undefined {
    return this.#bots.get(id)?.isRunning;
  }

  has(id: string): boolean {
    return this.#bots.has(id);
  }

  /**
   * What a new bot would be. @throws DroverError `bad_request` or `conflict`.
   */
  check(input: CreateBotBody): BotSpec {
    const { id, kind, labels, dedicated, desired } = input;
    if (!BOT_ID.test(id)) {
      throw new DroverError(
        'bad_request',
        'id must be 1 to 64 letters, digits, dots, dashes or underscores, and begin with a letter or digit',
      );
    }
    // Kept as it was given: defaults are filled in at each start, because some are only known then.
    const config = input.config as JsonObject;
    this.#schemas.checkConfig(kind, config);
    if (this.#bots.has(id)) throw new DroverError('conflict', `bot ${id} exists already`);
    const restart = { ...this.#defaults, ...input.restart };
    const incarnation = randomBytes(8).toString('hex');
    return { id, kind, config, labels, desired, restart, dedicated, incarnation };
  }

  /**
   * A bot is to run.
   * @throws DroverError `unavailable` when it is to have a host of its own and there are as many such bots as may be.
   */
  admitDedicated(id: string, dedicated: boolean): void {
    if (!dedicated) return;
    let wanted = 0;
    for (const { spec } of this.#bots.values()) {
      if (spec.dedicated && spec.desired === 'running' && spec.id !== id) wanted += 1;
    }
    this.#dependencies.hosts.admitDedicated(wanted);
  }

  /** Undefined when there is no such bot. */
  isDedicated(id: string): boolean | undefined {
    return this.#bots.get(id)?.spec.dedicated;
  }

  /** Adds a bot. It is on disk and its first events are on the stream when this resolves. @throws as check does. */
  async create(input: CreateBotBody): Promise<void> {
    const spec = this.check(input);
    const bot = new Bot(spec, this.#dependencies);
    // At once, so that a second request for the same id finds it.
    this.#bots.set(spec.id, bot);
    await bot.create(() => this.#bots.delete(spec.id));
  }

  /**
   * Brings back the bots that are on disk. Those whose kind is gone fail, with the reason.
   * @param rests says why one is not started now, or null.
   */
  async restore(rests: (spec: BotSpec) => string | null): Promise<void> {
    await Promise.all(
      this.#store.all().map(async (spec) => {
        const bot = new Bot(spec, this.#dependencies);
        this.#bots.set(spec.id, bot);
        await bot.restore(rests(spec));
      }),
    );
  }

  /** @throws DroverError `not_found`, `bad_request`, or `conflict`. */
  async update(id: string, { config, labels, restart }: UpdateBotBody): Promise<void> {
    const bot = this.#get(id);
    const { spec } = bot;
    const merged = config === undefined ? spec.config : this.#merge(spec, config as JsonObject);
    this.#schemas.checkConfig(spec.kind, merged);
    const changed: BotSpec = {
      ...spec,
      config: merged,
      labels: labels ?? spec.labels,
      restart: { ...spec.restart, ...restart },
    };
    const restartNow = JSON.stringify(changed.config) !== JSON.stringify(spec.config);
    if (JSON.stringify(changed.labels) !== JSON.stringify(spec.labels)) this.#forgetCommands(id);
    await bot.update(changed, restartNow);
  }

  /** From now on others may be told of it than those who had its commands run. */
  #forgetCommands(id: string): void {
    for (const host of this.#dependencies.hosts.threads()) host.forgetCommands(id);
  }

  /** @throws DroverError `not_found`, or `conflict` while another operation is under way. */
  async act(id: string, action: BotAction): Promise<void> {
    const bot = this.#get(id);
    switch (action) {
      case 'start':
        return bot.start();
      case 'stop':
        return bot.stop();
      case 'restart':
        return bot.restart();
      case 'delete':
        await bot.delete(() => this.#store.remove(id));
        this.#bots.delete(id);
        this.#forgetCommands(id);
    }
  }

  /**
   * The same action for many; what comes of each stands beside its id.
   * @param admit is asked about each before; what it throws is what comes of that one.
   */
  async actOnMany(
    { action, ids, labels }: BotActionsBody,
    admit: (id: string) => void,
  ): Promise<Record<string, ActionOutcome>> {
    const targets = new Set(ids ?? this.#bots.keys());
    const outcomes = [...targets]
      .filter((id) => labels === undefined || this.#hasLabels(id, labels))
      .map(async (id): Promise<[string, ActionOutcome]> => {
        try {
          admit(id);
          await this.act(id, action);
          return [id, { status: this.#bots.get(id)?.snapshot.status ?? 'deleted' }];
        } catch (thrown) {
          return [id, { error: answerable(`${action} of bot ${id}`, thrown).message }];
        }
      });
    return Object.fromEntries(await Promise.all(outcomes));
  }

  /** A bot's configuration as it may be shown. @throws DroverError `not_found`. */
  config(id: string): { config: JsonObject; restart: RestartPolicy; dedicated: boolean } {
    const { kind, config, restart, dedicated } = this.#get(id).spec;
    const filled = this.#schemas.checkConfig(kind, config);
    return { config: this.#schemas.withoutSecrets(kind, filled), restart, dedicated };
  }

  /** Runs a command of a bot. @throws DroverError as the table of `POST /invoke` says. */
  async invoke(
    id: string,
    command: string,
    args: JsonObject,
    timeoutMs: number,
    cancelled: AbortSignal,
  ): Promise<Json> {
    const bot = this.#get(id);
    const checked = this.#schemas.checkArgs(bot.spec.kind, command, args);
    return bot.invoke(command, checked, timeoutMs, cancelled);
  }

  /** The host that runs the bot, undefined while none does. */
  hostOf(id: string): HostThread | undefined {
    return this.#bots.get(id)?.host;
  }

  /** A bot ended by itself. */
  exited(exit: BotExit): void {
    const bot = this.#bots.get(exit.id);
    const host = bot?.host;
    if (!bot?.isRun(exit.run) || !host) return;
    if (exit.error !== null) {
      const { error: reason, stack, id: suspect } = exit;
      const found = { type: 'crash' as const, reason, suspect, stack };
      void this.#incidents.report(found, host, [exit.id]);
    }
    bot.exited(exit);
  }

  /**
   * A host is gone and all its bots with it. Why is for the suspect and for the whole: whoever may see only a neighbour is
   * to learn nothing of other bots, nor what their code says.
   */
  hostLost(host: HostThread, reason: string, suspect: string | null): void {
    const lost = `bot host ${host.number} was lost`;
    const bots = this.#on(host);
    const line = `${lost} (bots that ran there: ${bots.length}): ${reason}`;
    this.#dependencies.events.tell(logItem('error', SERVICE_SCOPE, line));
    for (const bot of bots) {
      const charged = bot.id === suspect;
      bot.hostLost(charged ? `${lost}: ${reason}` : lost, charged);
    }
  }

  /** A host is being replaced: its bots go on elsewhere. */
  hostRetiring(host: HostThread): void {
    for (const bot of this.#on(host)) void bot.move(host);
  }

  /** Ids of the bots that a host runs. */
  idsOn(host: HostThread): string[] {
    return this.#on(host).map(({ id }) => id);
  }

  /** Newest first; those that name one of `bots`, or all, each as `show` has it. */
  incidents(bots: readonly string[] | null, limit: number, show?: ShowIncident): Incident[] {
    return this.#incidents.list(bots, limit, show);
  }

  /** The snapshot of every bot, with what the hosts say of those that run. */
  snapshots(hosted: readonly HostedState[]): BotSnapshot[] {
    const running = new Map(hosted.map((state) => [state.id, state]));
    return [...this.#bots.values()].map((bot) =>
      bot.isRunning ? { ...bot.snapshot, ...running.get(bot.id) } : { ...bot.snapshot },
    );
  }

  /** Stops every bot, for the end of the service; what is wanted of them stays. */
  async stopAll(graceMs: number): Promise<void> {
    await Promise.all([...this.#bots.values()].map((bot) => bot.shutDown(graceMs)));
  }

  /** The configuration of a bot after a change; what its sender could not see stays as it was. */
  #merge({ kind, config }: BotSpec, change: JsonObject): JsonObject {
    const merged = mergePatch(config, change);
    return keepSecretsInLists(merged, config, this.#schemas.views(kind, config)) as JsonObject;
  }

  #get(id: string): Bot {
    const bot = this.#bots.get(id);
    if (!bot) throw new DroverError('not_found', `no bot ${JSON.stringify(id)}`);
    return bot;
  }

  #on(host: HostThread): Bot[] {
    return [...this.#bots.values()].filter((bot) => bot.host === host);
  }

  #hasLabels(id: string, wanted: Record<string, string>): boolean {
    const labels = this.labelsOf(id);
    return labels !== undefined && hasLabels(labels, wanted);
  }
}

/** JSON merge patch (RFC 7396): null removes a key. */
function mergePatch(base: JsonObject, patch: JsonObject): JsonObject {
  // Not by assignment: a key `__proto__` would set the prototype and hide from validation.
  const merged = new Map(Object.entries(base));
  for (const [name, value] of Object.entries(patch)) {
    const below = merged.get(name);
    if (value === null) merged.delete(name);
    else if (isObject(value)) merged.set(name, mergePatch(isObject(below) ? below : {}, value));
    else merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
