import type { SpecStore } from '../../cluster/node-service.js';
// Runs in main. Owns all bots, by id.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type {
  BotAction,
  BotConfig,
  BotSpec,
  CreateBotBody,
  Incident,
  IncidentBot,
  Isolation,
  RestartPolicy,
  UpdateBotBody,
} from '../../shared/contract/bots.js';
import type { BotChange, BotParts } from '../../shared/contract/config-changes.js';
import type { BotSnapshot } from '../../shared/contract/events.js';
import type {
  BotExit,
  BotFlood,
  HostedState,
  LateError,
} from '../../shared/contract/host-messages.js';
import type { GroupQuery, IncidentGroups } from '../../shared/contract/incident-groups.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { mergePatch, undoOf } from '../../shared/contract/merge-patch.js';
import { allows, reaches } from '../../shared/contract/rights.js';
import { SERVICE_SCOPE } from '../../shared/contract/scopes.js';
import { keepSecretsInLists } from '../../shared/contract/secrets.js';
import type { Reach, Rights } from '../../shared/contract/tokens.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError } from '../../shared/errors.js';
import { noBot } from '../../shared/no-bot.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { ShowIncident } from '../store/incident-store.js';
import type { HostThread } from '../threads/host-thread.js';
import { logItem } from '../threads/service-events.js';
import { Bot, type BotDependencies } from './bot.js';
import { changedSpec, newSpec } from './bot-spec.js';
import { changeOf } from './config-change.js';
import { driftOf, markChanged } from './fleet-mark.js';
import type { Incidents } from './incidents.js';
import type { KindQuarantine } from './kind-quarantine.js';
import type { KindSchemas } from './kind-schemas.js';
import type { KindVersions } from './kind-versions.js';
import type { JudgedBot } from './quotas.js';
import type { Lane, StartLimits } from './start-pace.js';
import type { BotWithUsage, ShownUsage } from './usage-snapshots.js';

/** Bots that are shown or started at once when the service starts: with all at once, hosts would wait until main has asked for all. */
const SLICE_BOTS = 128;
/** A slice does not wait longer for the one before, in ms: in that, a dedicated bot may wait for its host. */
const SLICE_MS = 100;

/** What decides on which host a bot runs. */
export type HostWish = Pick<BotSpec, 'id' | 'kind' | 'dedicated' | 'isolation' | 'host_group'>;

export interface RegistryParts {
  /** What every bot needs. */
  bots: Omit<BotDependencies, 'save' | 'configFor' | 'versionFor' | 'failed'>;
  schemas: KindSchemas;
  versions: Pick<KindVersions, 'idFor'>;
  kinds: KindQuarantine;
  store: SpecStore;
  incidents: Incidents;
  /** For fields that a bot's own restart policy leaves out. */
  defaults: RestartPolicy;
  /** Called before a request starts a bot. */
  noteStart: (id: string) => void;
}

export class BotRegistry {
  readonly #bots = new Map<string, Bot>();
  readonly #dependencies: BotDependencies;
  readonly #schemas: KindSchemas;
  readonly #versions: Pick<KindVersions, 'idFor'>;
  readonly #kinds: KindQuarantine;
  readonly #store: SpecStore;
  readonly #incidents: Incidents;
  /** Bots that were shown and are not stored yet. */
  readonly #fresh = new Set<string>();
  /** Bots as they are once a change that is under way is stored. Bounded by the calls of the fronts. */
  readonly #joining = new Set<Readonly<BotSpec>>();
  /** For fields that a bot's own restart policy leaves out. */
  readonly #defaults: RestartPolicy;
  readonly #noteStart: (id: string) => void;

  constructor(parts: RegistryParts) {
    const { bots, schemas, versions, kinds, store, incidents, defaults, noteStart } = parts;
    this.#dependencies = {
      ...bots,
      configFor: (spec) => {
        kinds.admit(spec.kind);
        return schemas.checkConfig(spec.kind, spec.config, versions.idFor(spec));
      },
      versionFor: (spec) => versions.idFor(spec),
      save: (spec) => store.put(spec),
      failed: (suspect, reason) =>
        incidents.report({ type: 'failed', reason, suspect, stack: null }, undefined, [suspect]),
    };
    this.#schemas = schemas;
    this.#versions = versions;
    this.#kinds = kinds;
    this.#store = store;
    this.#incidents = incidents;
    this.#defaults = defaults;
    this.#noteStart = noteStart;
  }

  get size(): number {
    return this.#bots.size;
  }

  /** Number of running bots. */
  get running(): number {
    let running = 0;
    for (const bot of this.#bots.values()) if (bot.isRunning) running += 1;
    return running;
  }

  ids(): string[] {
    return [...this.#bots.keys()];
  }

  /** Undefined for an unknown bot. */
  labelsOf(id: string): Readonly<Record<string, string>> | undefined {
    return this.#bots.get(id)?.spec.labels;
  }

  /** Also those of the other nodes of a cluster, as far as is known. */
  knownIds(): string[] {
    return [...new Set([...this.#bots.keys(), ...this.#dependencies.cluster.ids()])];
  }

  /** The bot that has this id now, here or on another node. Undefined for an unknown bot. */
  identityOf(id: string): IncidentBot | undefined {
    const spec = this.#bots.get(id)?.spec;
    if (!spec) return this.#dependencies.cluster.identityOf(id);
    return { id, incarnation: spec.incarnation ?? '', labels: spec.labels };
  }

  /** Undefined for an unknown bot. Of one that runs, the bot may have set another. */
  statusOf(id: string): string | undefined {
    return this.#bots.get(id)?.snapshot.status;
  }

  /** Whether its bots can be checked here: a node of a cluster may lack a kind that others have. */
  hasKind(kind: string): boolean {
    return this.#schemas.has(kind);
  }

  /** Undefined for an unknown bot. */
  isRunning(id: string): boolean | undefined {
    return this.#bots.get(id)?.isRunning;
  }

  has(id: string): boolean {
    return this.#bots.has(id);
  }

  /** The spec that a new bot would have. @throws DroverError `bad_request` or `conflict`. */
  check(input: CreateBotBody): BotSpec {
    const spec = newSpec(input, this.#defaults, this.#dependencies.cluster);
    this.#schemas.checkConfig(spec.kind, spec.config);
    if (this.#bots.has(spec.id)) throw new DroverError('conflict', `bot ${spec.id} exists already`);
    return spec;
  }

  /**
   * Checks the limit of dedicated hosts and hosts of groups before a bot is started. @param bot of an id that may be unknown.
   * @param reach of the caller. @throws DroverError `unavailable`, or `forbidden` above the share of a limited token.
   */
  admitHost(bot: HostWish | string, reach: Reach): void {
    const wish = typeof bot === 'string' ? this.#bots.get(bot)?.spec : bot;
    if (wish) this.admitHosts([wish], reach);
  }

  /** The same before several are started. */
  admitHosts(wishes: readonly HostWish[], reach: Reach): void {
    const owners = wishes.flatMap((wish) => this.#ownHost(wish) ?? []);
    if (owners.length === 0) return;
    const ids = new Set(wishes.map(({ id }) => id));
    const wanted = new Set<string>();
    const held = new Set<string>();
    for (const { spec } of this.#bots.values()) {
      if (spec.desired !== 'running' || ids.has(spec.id)) continue;
      const other = this.#ownHost(spec);
      if (!other) continue;
      wanted.add(other);
      if (reach !== null && reaches(reach, spec.id, spec.labels)) held.add(other);
    }
    for (const own of owners) {
      if (wanted.has(own)) continue;
      this.#dependencies.hosts.admitOwn(wanted.size, reach === null ? undefined : held.size);
      wanted.add(own);
      held.add(own);
    }
  }

  /** `restart` of the configuration. */
  get restartDefaults(): Readonly<RestartPolicy> {
    return this.#defaults;
  }

  /** Of the configuration; other limits hold from now on. */
  changePace(limits: StartLimits): void {
    this.#dependencies.pace.change(limits);
  }

  /** What the host of such a bot runs in. */
  isolationOf(bot: Pick<BotSpec, 'kind' | 'isolation'>): Isolation {
    return this.#dependencies.isolationOf(bot);
  }

  /** The bots of a host group, stopped ones and those of other nodes too, and those that are about to join it. */
  *ofGroup(name: string): Iterable<Pick<BotSpec, 'id' | 'labels'>> {
    for (const { spec } of this.#bots.values()) if (spec.host_group === name) yield spec;
    for (const spec of this.#joining) if (spec.host_group === name) yield spec;
    yield* this.#dependencies.cluster.ofGroup(name);
  }

  /** Names the dedicated host, or that of its group, that a bot needs; undefined for a shared one. */
  #ownHost({ id, kind, dedicated, isolation, host_group: group }: HostWish): string | undefined {
    if (dedicated) return `bot ${id}`;
    if (group === undefined) return undefined;
    return `${this.#dependencies.isolationOf({ kind, isolation })} ${group}`;
  }

  /**
   * Adds a bot. It is on disk and its first events are on the stream when this resolves.
   * @param fleet that it belongs to. @throws like check.
   */
  async create(input: CreateBotBody, lane: Lane = 'one', fleet?: string): Promise<void> {
    const spec = this.check(input);
    if (fleet !== undefined) spec.fleet = { name: fleet };
    if (spec.desired === 'running') this.#noteStart(spec.id);
    const bot = new Bot(spec, this.#dependencies);
    // Before the first wait, so that a second request for the same id finds it.
    this.#bots.set(spec.id, bot);
    await bot.create(() => this.#bots.delete(spec.id), lane);
  }

  /**
   * Adds bots in one transaction of the store: all, or none. They are on disk, and on the stream, at rest, when this resolves; those
   * that are to run are started by {@link act}. @param specs from {@link check}, in the same turn; each id once.
   * @throws DroverError `not_stored`.
   */
  async createMany(specs: readonly BotSpec[]): Promise<void> {
    const stored = this.#store.putMany(specs);
    const shown = specs.map((spec) => {
      const bot = new Bot(spec, this.#dependencies);
      // Before the first wait, so that a second request for the same id finds it.
      this.#bots.set(spec.id, bot);
      return bot.create(() => this.#bots.delete(spec.id), null, stored);
    });
    await Promise.all(shown);
  }

  /**
   * Puts the bots with which the service starts on the stream, at rest: the stored ones, and those of `first` that are not
   * stored. {@link begin} starts them; nothing but the stream changes before. @throws like check.
   */
  async show(first: readonly CreateBotBody[]): Promise<void> {
    const stored = this.#store.all();
    const ids = new Set(stored.map(({ id }) => id));
    const fresh = first.filter(({ id }) => !ids.has(id)).map((body) => this.check(body));
    for (const { id } of fresh) this.#fresh.add(id);
    const specs = [...stored, ...fresh];
    const shown: Promise<unknown>[] = [];
    for (let from = 0; from < specs.length; from += SLICE_BOTS) {
      const slice = specs.slice(from, from + SLICE_BOTS).map((spec) => {
        const bot = new Bot(spec, this.#dependencies);
        this.#bots.set(spec.id, bot);
        return bot.show();
      });
      const settled = Promise.all(slice);
      // It may reject before it is waited for.
      settled.catch(() => {});
      shown.push(settled);
      // The broadcaster publishes this slice while main prepares the next.
      await nextTurn();
    }
    await Promise.all(shown);
  }

  /**
   * Starts the bots that were shown, and stores the new ones, a slice at a time. A bot whose kind no longer exists fails, with
   * the reason. From now on, nothing else is done to a bot before its start.
   * @param holdOf why a bot is not started now, or null.
   */
  async begin(holdOf: (spec: BotSpec) => string | null): Promise<void> {
    const bots = [...this.#bots.values()];
    const slices: { turn: Deferred; begun: Promise<unknown> }[] = [];
    for (let from = 0; from < bots.length; from += SLICE_BOTS) {
      const turn = new Deferred();
      const begun = bots
        .slice(from, from + SLICE_BOTS)
        .map((bot) => this.#begin(bot, holdOf(bot.spec), turn.promise));
      slices.push({ turn, begun: Promise.all(begun) });
    }
    this.#fresh.clear();
    const all = Promise.all(slices.map(({ begun }) => begun));
    // It may reject before the last slice is waited for.
    all.catch(() => {});
    for (const [n, { turn }] of slices.entries()) {
      turn.resolve();
      // The host starts one slice while main prepares the next.
      const before = slices[n - 1]?.begun;
      const settled = before?.catch(() => {});
      if (settled) await withTimeout(settled, SLICE_MS, () => {});
    }
    await all;
  }

  async #begin(bot: Bot, hold: string | null, turn: Promise<void>): Promise<void> {
    const isNew = this.#fresh.has(bot.id);
    try {
      await bot.begin(isNew, hold, turn);
    } catch (thrown) {
      const code = thrown instanceof DroverError ? thrown.code : null;
      if (!isNew) throw thrown;
      // Another node, with the same configuration, has made it at the same time.
      if (code === 'conflict') await this.release(bot.id, async () => {});
      // The cluster has no record of it yet: it waits until the node has joined.
      else if (code === 'unavailable') await bot.begin(false, hold, turn);
      else throw thrown;
    }
  }

  /**
   * @param rights with which secrets that it does not give may go elsewhere, and with which share of the hosts.
   * @returns what has changed, null for nothing.
   * @throws DroverError `not_found`, `bad_request`, `forbidden`, or `conflict`.
   */
  async update(id: string, body: UpdateBotBody, rights: Rights): Promise<BotChange | null> {
    const bot = this.#get(id);
    const { spec } = bot;
    const patch = body.config as JsonObject | undefined;
    const merged = patch === undefined ? spec.config : this.patched(spec, patch);
    const next = changedSpec(spec, body, merged, this.#dependencies.cluster);
    this.#schemas.checkConfig(spec.kind, merged, this.#versions.idFor(spec));
    if (patch !== undefined && !allows(rights, 'admin')) {
      this.#schemas.checkRedirects(spec.kind, spec.config, merged, patch);
    }
    const { before, after, secrets } = this.#difference(spec, next);
    if (spec.fleet) next.fleet = markChanged(spec.fleet, before, after, secrets);
    await this.#replace(bot, next, rights, 'one');
    return changeOf(before, after, secrets);
  }

  /**
   * What a bot would be if it were as its fleet says, and what that changes; null for nothing. A configuration that is the
   * same with defaults filled in stays as it is stored. @throws DroverError `bad_request`.
   */
  compare(
    spec: Readonly<BotSpec>,
    input: CreateBotBody,
    fleet: string,
  ): { next: BotSpec; change: BotChange | null } {
    const { term, incarnation, config, isolation, rollout } = spec;
    const kept = {
      ...(term !== undefined && { term }),
      ...(incarnation && { incarnation }),
      ...(rollout && { rollout }),
    };
    const fresh = newSpec(input, this.#defaults, this.#dependencies.cluster);
    const next: BotSpec = { ...fresh, ...kept, fleet: { name: fleet } };
    if (this.isolationOf(spec) === this.isolationOf(next)) next.isolation = isolation;
    if (next.quota && Object.keys(next.quota).length === 0) delete next.quota;
    const isSameKind = next.kind === spec.kind;
    if (isSameKind && isDeepStrictEqual(next.config, config)) next.config = config;
    else this.#schemas.checkConfig(next.kind, next.config, this.#versions.idFor(next));
    // Most bots of a fleet do not change, and to validate a configuration takes ten times as long.
    if (isDeepStrictEqual({ ...next, fleet: null }, { ...spec, fleet: null })) {
      return { next, change: null };
    }
    const { before, after, secrets } = this.#difference(spec, next);
    const change = changeOf(before, after, secrets);
    if (isSameKind && !change?.config && !change?.secrets) next.config = config;
    return { next, change };
  }

  /** Paths of the secrets that a bot has. */
  secretsOf({ kind, config }: Readonly<BotSpec>): string[] {
    return this.#schemas.secretPaths(kind, config);
  }

  /** Makes a bot what {@link compare} has found. @throws like update. */
  async bring(next: BotSpec, rights: Rights): Promise<void> {
    const bot = this.#get(next.id);
    const isFailed = bot.snapshot.status === 'failed';
    const isNew = await this.#replace(bot, next, rights, 'many');
    // It has failed with what it had before.
    if (isFailed && isNew && next.desired === 'running') await bot.start('many');
  }

  /** @returns whether the bot runs with something else from now on. */
  async #replace(bot: Bot, next: BotSpec, rights: Rights, lane: Lane): Promise<boolean> {
    const { id, spec } = bot;
    const hasMoved = next.isolation !== spec.isolation || next.host_group !== spec.host_group;
    const isStarted = next.desired === 'running' && spec.desired === 'stopped';
    if ((hasMoved && spec.desired === 'running') || isStarted) this.admitHost(next, rights.reach);
    const restartNow = hasMoved || JSON.stringify(next.config) !== JSON.stringify(spec.config);
    if (restartNow || isStarted) this.#noteStart(id);
    if (JSON.stringify(next.labels) !== JSON.stringify(spec.labels)) this.#forgetCommands(id);
    this.#joining.add(next);
    try {
      await bot.update(next, restartNow, lane);
    } finally {
      this.#joining.delete(next);
    }
    return restartNow;
  }

  #difference(
    spec: Readonly<BotSpec>,
    next: BotSpec,
  ): { before: BotParts; after: BotParts; secrets: string[] } {
    return {
      before: this.#partsOf(spec),
      after: this.#partsOf(next),
      secrets: this.#schemas.changedSecrets(next.kind, spec.config, next.config),
    };
  }

  /**
   * Gives a bot to a rollout, which is on disk then, and starts it again if it is to run. Does nothing for a bot that the rollout has
   * already. @param patch merged into its configuration; null for none. @throws DroverError `not_found`, `bad_request`.
   */
  async roll(id: string, rollout: string, patch: JsonObject | null): Promise<void> {
    await this.#get(id).roll((spec) => {
      if (spec.rollout?.id === rollout) return null;
      const config = patch ? this.patched(spec, patch) : spec.config;
      const undo = patch && { undo: undoOf(spec.config, config) };
      return {
        ...spec,
        config,
        rollout: { id: rollout, before: spec.rollout?.id ?? null, ...undo },
      };
    });
  }

  /** Takes back what a rollout has changed of a bot. @returns false when it is not the last one that has. @throws DroverError `not_found`. */
  async unroll(id: string, rollout: string): Promise<boolean> {
    let isUndone = false;
    await this.#get(id).roll(({ rollout: last, ...spec }) => {
      if (last?.id !== rollout) return null;
      isUndone = true;
      const { before, undo = {} } = last;
      return {
        ...spec,
        config: this.patched(spec, undo),
        ...(before !== null && { rollout: { id: before, before: null } }),
      };
    });
    return isUndone;
  }

  /** See {@link Bot.whenHealthy}. @throws DroverError `not_found`. */
  whenHealthy(...[id, ...rest]: [string, ...Parameters<Bot['whenHealthy']>]): Promise<boolean> {
    return this.#get(id).whenHealthy(...rest);
  }

  /** As `GET /api/bots/{id}/config` shows them. */
  #partsOf(spec: Readonly<BotSpec>): BotParts {
    const { kind, labels, restart, isolation, host_group, quota } = spec;
    const { node, node_labels, failover } = spec;
    const placement = { isolation, host_group, quota, node, node_labels, failover };
    const version = this.#versions.idFor(spec);
    return {
      config: this.#schemas.withoutSecrets(kind, this.#filled(spec), version),
      labels: { ...labels },
      restart: { ...restart },
      placement: Object.fromEntries(
        Object.entries(placement).filter(([, value]) => value !== undefined),
      ) as JsonObject,
    };
  }

  /** With defaults, which are unknown for a configuration that is no longer valid. */
  #filled(spec: Readonly<BotSpec>): JsonObject {
    const { kind, config } = spec;
    try {
      return this.#schemas.checkConfig(kind, config, this.#versions.idFor(spec));
    } catch {
      return config;
    }
  }

  /** Other callers may see the bot from now on than those who ran its commands. */
  #forgetCommands(id: string): void {
    for (const host of this.#dependencies.hosts.threads()) host.forgetCommands(id);
  }

  /**
   * @param lane whether the action is one of many, whose starts are spread.
   * @throws DroverError `not_found`, or `conflict` while another operation is under way.
   */
  async act(id: string, action: BotAction, lane: Lane = 'one'): Promise<void> {
    const bot = this.#get(id);
    switch (action) {
      case 'start':
        this.#noteStart(id);
        return bot.start(lane);
      case 'stop':
        return bot.stop();
      case 'restart':
        this.#noteStart(id);
        return bot.restart(lane);
      case 'delete':
        await bot.delete(() => this.#store.remove(id));
        this.#bots.delete(id);
        this.#forgetCommands(id);
    }
  }

  /** The bots of a node as its cluster changes them (src/cluster/control/owner.ts). */
  specs(): Readonly<BotSpec>[] {
    return [...this.#bots.values()].map(({ spec }) => spec);
  }

  /** Undefined for an unknown bot. */
  specOf(id: string): Readonly<BotSpec> | undefined {
    return this.#bots.get(id)?.spec;
  }

  /** Takes a bot that another node had, or has given to this one. Resolves when it runs, if it is to, or waits for its turn. */
  async adopt(spec: BotSpec): Promise<void> {
    if (this.#bots.has(spec.id))
      throw new DroverError('conflict', `bot ${spec.id} is here already`);
    const bot = new Bot(spec, this.#dependencies);
    this.#bots.set(spec.id, bot);
    if (spec.desired === 'running') this.#noteStart(spec.id);
    await bot.create(() => this.#bots.delete(spec.id), 'many');
  }

  /** Stops a bot that another node has from now on. @param forget removes it from this node's disk. */
  async release(id: string, forget: () => Promise<void>): Promise<void> {
    const bot = this.#get(id);
    await bot.leave(forget);
    this.#bots.delete(id);
    this.#forgetCommands(id);
  }

  async keepStopped(id: string, reason: string): Promise<void> {
    await this.#bots.get(id)?.keepStopped(reason);
  }

  /** Ends {@link keepStopped}: it is started if it was to run. */
  async allowStart(id: string): Promise<void> {
    await this.#bots.get(id)?.allowStart();
  }

  async assignTerm(id: string, term: number): Promise<void> {
    await this.#bots.get(id)?.assignTerm(term);
  }

  /** A bot's configuration without secrets. @throws DroverError `not_found`. */
  config(id: string): Omit<BotConfig, 'config'> & { config: JsonObject } {
    const { spec } = this.#get(id);
    const { kind, config, restart, dedicated, host_group = null, quota = {} } = spec;
    const { node, node_labels, failover, fleet } = spec;
    const version = this.#versions.idFor(spec);
    const filled = this.#schemas.checkConfig(kind, config, version);
    return {
      config: this.#schemas.withoutSecrets(kind, filled, version),
      secrets: this.#schemas.secretPaths(kind, config, version),
      restart,
      dedicated,
      isolation: this.#dependencies.isolationOf(spec),
      host_group,
      quota,
      ...(node !== undefined && { node }),
      ...(node_labels && { node_labels }),
      ...(failover && { failover }),
      fleet: fleet ? { name: fleet.name, drift: driftOf(spec) } : null,
    };
  }

  /** A bot as it was configured, in the form in which it is created. @param secret what stands for one. */
  exported(id: string, secret: (path: string) => Json): JsonObject {
    const { kind, config, labels, desired, restart, dedicated, quota, ...rest } =
      this.#get(id).spec;
    const { isolation, host_group, node, node_labels, failover } = rest;
    const own = Object.entries(restart).filter(
      ([name, value]) => value !== this.#defaults[name as keyof RestartPolicy],
    );
    const given = {
      ...{ id, kind },
      ...{ config: this.#schemas.replaceSecrets(kind, config, secret), labels },
      ...(desired === 'stopped' && { desired }),
      restart: Object.fromEntries(own),
      ...(dedicated && { dedicated }),
      ...{ isolation, host_group, quota, node, node_labels, failover },
    };
    return Object.fromEntries(
      Object.entries(given).filter(([, value]) => !isNothing(value)),
    ) as JsonObject;
  }

  /**
   * Ends the quarantine of a kind, and starts the bots that it keeps from running, without waiting for them.
   * @returns how many. @throws DroverError `not_found`, or `conflict` when the kind is not quarantined.
   */
  releaseKind(kind: string): number {
    this.#schemas.expectKind(kind);
    if (!this.#kinds.release(kind)) {
      throw new DroverError('conflict', `the bot kind ${kind} is not quarantined`);
    }
    this.#dependencies.events.tell(
      logItem('info', SERVICE_SCOPE, `the bot kind ${kind} is released`),
    );
    const held = [...this.#bots.values()].filter((bot) => bot.spec.kind === kind && bot.isHeld);
    // One that is stopped or deleted at the same time refuses.
    for (const bot of held) void bot.start('many').catch(() => {});
    return held.length;
  }

  /** Where commands of the bot are to be sent. @throws DroverError `not_found`, or `conflict` when it does not run. */
  commandTarget(id: string): { host: number; permit: number } {
    return this.#get(id).commandTarget();
  }

  /** What the snapshot of a running bot says of its usage; undefined for others. */
  usageOf(id: string): ShownUsage | undefined {
    const bot = this.#bots.get(id);
    return bot?.isRunning ? bot.snapshot : undefined;
  }

  /** What its quotas are judged by; undefined for a bot that does not run. */
  judged(id: string): JudgedBot | undefined {
    const bot = this.#bots.get(id);
    const startedAt = bot?.isRunning ? bot.snapshot.started_at_ms : null;
    if (!bot || startedAt === null) return;
    return { quota: bot.spec.quota, ranMs: Date.now() - startedAt };
  }

  /** The bot has used more than its hard quota. */
  overQuota(id: string, host: HostThread, reason: string): void {
    const stopped = (why: string): void => {
      const found = { type: 'over_quota' as const, reason: `bot ${id}: ${why}`, suspect: id };
      this.#incidents.report({ ...found, stack: null }, host, [id]);
    };
    // While another operation is under way: the next window is judged again.
    this.#bots
      .get(id)
      ?.overQuota(host, reason, stopped)
      .catch(() => {});
  }

  showUsage({ id, usage, over_quota }: BotWithUsage): void {
    this.#bots.get(id)?.showUsage({ usage, over_quota });
  }

  /** The version of its kind that the bot runs; null for a bot that does not run, and for an unknown one. */
  versionOf(id: string): string | null {
    return this.#bots.get(id)?.version ?? null;
  }

  /** Undefined for an unknown bot. */
  kindOf(id: string): string | undefined {
    return this.#bots.get(id)?.spec.kind;
  }

  /** The host that runs the bot, if one does. */
  hostOf(id: string): HostThread | undefined {
    return this.#bots.get(id)?.host;
  }

  /** A run ended by itself. */
  exited(exit: BotExit): void {
    const bot = this.#bots.get(exit.id);
    const host = bot?.host;
    if (!bot?.isRun(exit.run) || !host) return;
    if (exit.error !== null) {
      const { error: reason, stack, id: suspect } = exit;
      const found = { type: 'crash' as const, reason, suspect, stack };
      this.#incidents.report(found, host, [exit.id]);
    }
    bot.exited(exit);
  }

  /** The bot has the status in which its kind is ready. */
  ready(id: string, run: number): void {
    this.#bots.get(id)?.ready(run);
  }

  /** A bot has been above its limits of lines or statuses for a while. Who looks for it finds the incident. */
  flooded({ id, run, reason: skipped }: BotFlood): void {
    const bot = this.#bots.get(id);
    if (!bot?.isRun(run)) return;
    const reason = `bot ${id} floods the stream: in the last second ${skipped}`;
    this.#incidents.report({ type: 'flood', reason, suspect: id, stack: null }, bot.host, [id]);
  }

  /**
   * A host is gone with all its bots. Only the suspect and the service log get the reason: a caller that may see only
   * another bot of that host must not learn about the suspect, or text from its code. Of the incident report, each caller is
   * shown what it may see.
   * @param incident the id of that report, null when there is none.
   */
  hostLost(
    host: HostThread,
    reason: string,
    suspect: string | null,
    incident: string | null,
  ): void {
    const lost = `bot host ${host.number} was lost`;
    const told = incident === null ? lost : `${lost}: incident ${incident}`;
    const bots = this.#on(host);
    const line = `${lost} (bots that ran there: ${bots.length}): ${reason}`;
    this.#dependencies.events.tell(logItem('error', SERVICE_SCOPE, line));
    for (const bot of bots) {
      const charged = bot.id === suspect;
      bot.hostLost(charged ? `${told}: ${reason}` : told, charged);
    }
  }

  /** A run that is over has thrown. Text of an earlier bot with the same id is not shown. */
  lateError(late: LateError): void {
    const bot = this.#bots.get(late.id);
    bot?.lateError(late);
    if (bot || !late.isLeftOpen) return;
    const line = `bot ${late.id}, which is deleted, has left open: ${late.error}; it is ended now`;
    this.#dependencies.events.tell(logItem('warn', SERVICE_SCOPE, line));
  }

  /** A host is being replaced: its bots move to other hosts. */
  hostRetiring(host: HostThread): void {
    for (const bot of this.#on(host)) void bot.move(host);
  }

  /** Ids of the bots that are meant to run. */
  idsToRun(): string[] {
    return [...this.#bots.values()]
      .filter(({ spec }) => spec.desired === 'running')
      .map(({ id }) => id);
  }

  /** Ids of the bots of a kind. */
  idsOfKind(kind: string): string[] {
    return [...this.#bots.values()].filter(({ spec }) => spec.kind === kind).map(({ id }) => id);
  }

  /** The bot has held up the others of its host again and again. */
  isolate(id: string, host: HostThread, reason: string): void {
    void this.#bots.get(id)?.isolate(host, reason);
  }

  /** A run of the bot, or of an earlier one with its id, does not stop. */
  didNotStop(id: string): void {
    this.#bots.get(id)?.didNotStop();
  }

  /** Ids of the bots that a host runs. */
  idsOn(host: HostThread): string[] {
    return this.#on(host).map(({ id }) => id);
  }

  /** Newest first: those that name one of `bots`, or all, of one cause or all, each as `show` returns it. */
  incidents(
    bots: readonly string[] | null,
    limit: number,
    show?: ShowIncident,
    cause?: string,
  ): Incident[] {
    return this.#incidents.list(bots, limit, show, cause);
  }

  incidentGroups(query: GroupQuery): IncidentGroups {
    return this.#incidents.groups(query);
  }

  /** The snapshot of every bot, with the hosts' state of those that run. */
  snapshots(hosted: readonly HostedState[]): BotSnapshot[] {
    const running = new Map(hosted.map((state) => [state.id, state]));
    return [...this.#bots.values()].map((bot) =>
      bot.isRunning ? { ...bot.snapshot, ...running.get(bot.id) } : { ...bot.snapshot },
    );
  }

  /** Stops every bot for the shutdown of the service. Their desired state stays. */
  async stopAll(graceMs: number): Promise<void> {
    await Promise.all([...this.#bots.values()].map((bot) => bot.shutDown(graceMs)));
  }

  /** The configuration of a bot after a change. Secrets, which the sender cannot see, stay. */
  patched({ kind, config }: Readonly<BotSpec>, change: JsonObject): JsonObject {
    const merged = mergePatch(config, change);
    return keepSecretsInLists(merged, config, this.#schemas.views(kind, config)) as JsonObject;
  }

  #get(id: string): Bot {
    const bot = this.#bots.get(id);
    if (!bot) throw noBot(id);
    return bot;
  }

  #on(host: HostThread): Bot[] {
    return [...this.#bots.values()].filter((bot) => bot.host === host);
  }
}

function isNothing(value: unknown): boolean {
  return (
    value === undefined || (typeof value === 'object' && Object.keys(value ?? {}).length === 0)
  );
}
