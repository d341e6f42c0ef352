// Runs in main. Owns rollouts: operations that give bots another version of their kind, another configuration, or both, and that take
// it back. What a rollout has changed of a bot is stored with the bot, and the versions with their kinds (KindStates): a rollout continues
// after any end of the service.

import type { BotSpec } from '../../shared/contract/bots.js';
import type { JsonObject } from '../../shared/contract/json.js';
import type { OperationOptions, Rollout } from '../../shared/contract/operations.js';
import { botsText, firstOf } from '../../shared/counted.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import type { HostPool } from '../bots/host-pool.js';
import type { KindReload } from '../bots/kind-reload.js';
import type { KindSchemas } from '../bots/kind-schemas.js';
import type { KindStates } from '../bots/kind-states.js';
import type { KindVersion, KindVersions } from '../bots/kind-versions.js';
import type { BotRegistry } from '../bots/registry.js';
import type { OperationRecord } from '../store/operation-store.js';
import type { BotOutcome, Operation, OperationTask, OperationWork } from './operation.js';
import type { Operations } from './operations.js';

export interface RolloutsParts {
  registry: BotRegistry;
  versions: KindVersions;
  schemas: KindSchemas;
  states: KindStates;
  hosts: Pick<HostPool, 'renew'>;
  reload: Pick<KindReload, 'forget'>;
  say: (level: 'info' | 'warn' | 'error', line: string) => void;
}

/** What is to be rolled out. */
export interface RolloutWish {
  /** In the order in which they change. */
  bots: readonly string[];
  /** Null: only configurations change. */
  version: KindVersion | null;
  isWhole: boolean;
  /** Merged into the configurations; null for none. */
  config: JsonObject | null;
  canary: number;
  promoteAfterMs: number | null;
  healthyMs: number;
  options: OperationOptions;
  actor: OperationTask['actor'];
  /** Whether the change may send secrets elsewhere that its sender has not given. */
  mayRedirect: boolean;
}

/** Bots that an error names; the others are counted. */
const NAMED_BOTS = 3;

export class Rollouts {
  readonly #parts: RolloutsParts;
  #operations: Operations | undefined;
  /** Of rollouts whose canaries are healthy. Bounded by the operations that have not ended. */
  readonly #waiting = new Map<string, Deferred>();
  /** Rollouts that end because they are taken back. */
  readonly #undoing = new Set<string>();

  constructor(parts: RolloutsParts) {
    this.#parts = parts;
  }

  /** To be called before anything else. */
  through(operations: Operations): void {
    this.#operations = operations;
  }

  /**
   * Begins a rollout, after all that could make it fail for every bot was checked.
   * @throws DroverError `bad_request`, `conflict`, `not_stored`.
   */
  async start(wish: RolloutWish): Promise<Operation> {
    const { version, config, isWhole, bots } = wish;
    const specs = bots.flatMap((id) => this.#parts.registry.specOf(id) ?? []);
    if (specs.length === 0) throw new DroverError('conflict', 'no bot is selected');
    this.#checkFree(specs, version);
    const { versions } = this.#parts;
    if (version) versions.know(version);
    this.#checkConfigs(specs, version, config, wish.mayRedirect);
    const kind = version?.kind ?? null;
    const before = version ? this.#before(version, specs) : null;
    const what = version ? `${version.kind} ${version.id}` : Object.keys(config ?? {}).join(', ');
    const rollout: Rollout = {
      ...{ kind, version: version?.id ?? null, before, is_whole: isWhole },
      ...{ config: Object.keys(config ?? {}), canary: wish.canary, healthy_ms: wish.healthyMs },
      promote_after_ms: wish.promoteAfterMs,
      ready: version?.info.ready ?? null,
      ...{ waits: false, is_promoted: false, undoes: null, undone_by: null },
    };
    const title = `roll out ${what} to ${botsText(specs.length)}`;
    const task = this.#task(rollout, config);
    const { options, actor } = wish;
    const ids = specs.map(({ id }) => id);
    return this.#all.add({
      ...task,
      title,
      actor,
      bots: ids,
      options,
      prepare: this.#prepare(version, isWhole ? before : null),
    });
  }

  /** Lets a rollout continue that waits after its canaries, or will. @returns false when it does not. */
  promote(operation: Operation): boolean {
    const { rollout } = operation.record;
    if (!rollout || operation.hasEnded || rollout.undoes !== null || rollout.canary === 0)
      return false;
    operation.note({ rollout: { ...rollout, is_promoted: true, waits: false } });
    this.#waiting.get(operation.id)?.resolve();
    return true;
  }

  /**
   * Takes back what a rollout has changed, which ends first if it has not. @returns the operation that does.
   * @throws DroverError `conflict` when it cannot be taken back.
   */
  async undo(
    record: Readonly<OperationRecord>,
    actor: OperationTask['actor'],
    why: string,
  ): Promise<Operation> {
    const { id, rollout } = record;
    if (!rollout) throw new DroverError('conflict', `operation ${id} is no rollout`);
    if (rollout.undoes !== null)
      throw new DroverError('conflict', `rollout ${id} takes back another one`);
    if (rollout.undone_by !== null) {
      throw new DroverError('conflict', `rollout ${id} is taken back by ${rollout.undone_by}`);
    }
    const open = this.#all.open(id);
    this.#undoing.add(id);
    open?.cancel(why);
    await open?.ended;
    await this.#takeBackVersion(id, rollout);
    this.#undoing.delete(id);
    const specs = this.#parts.registry.specs().filter((spec) => spec.rollout?.id === id);
    const undoing: Rollout = { ...rollout, undoes: id, canary: 0, waits: false };
    const operation = await this.#all.add({
      ...this.#task(undoing, null),
      title: `take back: ${record.title.replace(/ to \d+ bots?$/, '')} (${botsText(specs.length)})`,
      ...{ actor, bots: specs.map((spec) => spec.id) },
      options: { parallel: record.options.parallel, stagger_ms: 0, max_failed: null },
    });
    this.#all.note(id, { rollout: { ...rollout, undone_by: operation.id } });
    return operation;
  }

  /** Brings to an end what the last run of the service has not. To be called once, when bots can be changed. */
  async reconcile(): Promise<void> {
    for (const record of [...this.#all.all()]) {
      const { id, state, rollout } = record;
      if (!rollout || rollout.undoes !== null || rollout.undone_by !== null) continue;
      try {
        if (state === 'stopped') await this.undo(record, record.actor, '');
        else if (state === 'done' && this.#isOpen(id, rollout)) await this.#done(rollout);
        else if (state === 'canceled' && this.#isOpen(id, rollout)) {
          await this.#takeBackVersion(id, rollout);
        }
      } catch (thrown) {
        this.#parts.say('error', `rollout ${id}: ${messageOf(thrown)}`);
      }
    }
    for (const [kind, id] of this.#parts.states.openRollouts()) {
      // It was never begun.
      if (!this.#all.open(id)) await this.#parts.states.end(id, kind).catch(() => {});
    }
  }

  #isOpen(id: string, { kind }: Rollout): boolean {
    return kind !== null && this.#parts.states.openRollout(kind) === id;
  }

  /** What is left to do of a rollout that the last run of the service has not ended; null for another operation. */
  resume({ rollout, plan }: Readonly<OperationRecord>): OperationWork | null {
    return rollout ? this.#task(rollout, plan?.config ?? null) : null;
  }

  #task(rollout: Rollout, config: JsonObject | null) {
    const { canary, is_promoted: isPromoted, undoes } = rollout;
    return {
      ...{
        type: 'rollout' as const,
        continues: true as const,
        rollout,
        ...(config && { plan: { config } }),
      },
      run: (bot: string, signal: AbortSignal, id: string) =>
        undoes === null
          ? this.#change(bot, id, rollout, config, signal)
          : this.#restore(bot, undoes),
      ...(canary > 0 &&
        !isPromoted && {
          gate: {
            after: canary,
            check: (signal: AbortSignal, id: string) => this.#await(id, signal),
          },
        }),
      finished: (operation: Operation) => void this.#finished(operation),
    };
  }

  /** What bots go back to: the current version or, when that is the new one since a reload, what most of them run. */
  #before(version: KindVersion, specs: readonly Readonly<BotSpec>[]): string | null {
    const { registry, versions } = this.#parts;
    const current = versions.current(version.kind)?.id ?? null;
    if (current !== version.id) return current;
    const counts = new Map<string, number>();
    for (const { id } of specs) {
      const running = registry.versionOf(id);
      if (running !== null && running !== version.id) {
        counts.set(running, (counts.get(running) ?? 0) + 1);
      }
    }
    const [most] = [...counts].sort(([, a], [, b]) => b - a);
    return most?.[0] ?? current;
  }

  /** Stores the version before the first bot gets it. @param before of the whole kind; null for some of its bots. */
  #prepare(version: KindVersion | null, before: string | null) {
    return async (id: string): Promise<void> => {
      if (version) await this.#parts.states.begin(id, version, before);
    };
  }

  async #change(
    bot: string,
    id: string,
    { healthy_ms: withinMs, ready }: Rollout,
    config: JsonObject | null,
    signal: AbortSignal,
  ): Promise<BotOutcome> {
    const { registry } = this.#parts;
    const spec = registry.specOf(bot);
    if (!spec) return { skipped: 'it was deleted meanwhile' };
    await registry.roll(bot, id, config);
    if (registry.specOf(bot)?.desired === 'stopped') return { status: 'stopped' };
    const isHealthy = await registry.whenHealthy(
      ...[bot, ready ?? this.#readyOf(spec), withinMs, signal],
    );
    if (!isHealthy) return { skipped: 'the rollout ended before it was healthy' };
    return { status: registry.statusOf(bot) ?? 'deleted' };
  }

  #readyOf({ kind }: Readonly<BotSpec>): string | undefined {
    return this.#parts.versions.current(kind)?.info.ready;
  }

  async #restore(bot: string, undoes: string): Promise<BotOutcome> {
    const { registry } = this.#parts;
    if (!registry.has(bot)) return { skipped: 'it was deleted meanwhile' };
    if (!(await registry.unroll(bot, undoes))) {
      // Before the service ended, or another rollout has changed it since.
      if (registry.specOf(bot)?.rollout) return { skipped: 'another rollout has changed it since' };
    }
    return { status: registry.statusOf(bot) ?? 'deleted' };
  }

  /** Resolves when the rollout is promoted. */
  async #await(id: string, signal: AbortSignal): Promise<void> {
    const operation = this.#all.open(id);
    const rollout = operation?.record.rollout;
    if (!operation || !rollout || rollout.is_promoted) return;
    const promoted = new Deferred();
    this.#waiting.set(id, promoted);
    operation.note({ rollout: { ...rollout, waits: true } });
    const { promote_after_ms: afterMs } = rollout;
    const timer = afterMs === null ? undefined : setTimeout(() => this.promote(operation), afterMs);
    const stopped = (): void => promoted.resolve();
    signal.addEventListener('abort', stopped);
    await promoted.promise;
    signal.removeEventListener('abort', stopped);
    clearTimeout(timer);
    this.#waiting.delete(id);
  }

  async #finished(operation: Operation): Promise<void> {
    const { record } = operation;
    const { rollout, state } = record;
    if (!rollout) return;
    try {
      if (rollout.undoes !== null) await this.#undone(rollout, rollout.undoes);
      else if (state === 'done') await this.#done(rollout);
      else if (state === 'stopped') {
        await this.undo(record, record.actor, record.reason ?? 'too many bots have failed');
      } else if (!this.#undoing.has(operation.id)) {
        await this.#takeBackVersion(operation.id, rollout);
      }
    } catch (thrown) {
      this.#parts.say('error', `rollout ${operation.id}: ${messageOf(thrown)}`);
    }
    this.#parts.reload.forget();
  }

  async #done({ kind, version: id, is_whole: isWhole }: Rollout): Promise<void> {
    const version = kind !== null && id !== null ? this.#parts.versions.get(kind, id) : undefined;
    if (!version || !isWhole) return;
    await this.#parts.states.finish(version);
    this.#parts.hosts.renew();
    this.#parts.say('info', `the bot kind ${kind} has version ${id} from now on`);
  }

  async #undone({ kind }: Rollout, undoes: string): Promise<void> {
    if (kind === null) return;
    await this.#parts.states.end(undoes, kind);
    this.#parts.hosts.renew();
  }

  /** Bots of the kind start with the version before from now on. */
  async #takeBackVersion(
    id: string,
    { kind, version: rolled, before, is_whole: isWhole }: Rollout,
  ): Promise<void> {
    if (kind === null || rolled === null || !isWhole) return;
    const { versions, states, say } = this.#parts;
    const version = versions.get(kind, rolled);
    const previous = before === null ? undefined : versions.get(kind, before);
    if (!version || !previous) {
      throw new DroverError(
        'conflict',
        `version ${before} of the bot kind ${kind} is not known any more`,
      );
    }
    await states.takeBack(id, version, previous);
    say('warn', `the bot kind ${kind} has version ${before} again, ${rolled} was taken back`);
  }

  /** @throws DroverError `conflict` when another rollout changes the same bots, or the same kind. */
  #checkFree(specs: readonly Readonly<BotSpec>[], version: KindVersion | null): void {
    const open = version && this.#parts.states.openRollout(version.kind);
    if (open)
      throw new DroverError(
        'conflict',
        `rollout ${open} of the bot kind ${version.kind} is under way`,
      );
    const wanted = new Set(specs.map(({ id }) => id));
    for (const operation of this.#all.openOnes()) {
      if (operation.record.type !== 'rollout') continue;
      const both = operation.bots.find(({ id }) => wanted.has(id));
      if (!both) continue;
      throw new DroverError(
        'conflict',
        `rollout ${operation.id} is under way, which has bot ${both.id} too`,
      );
    }
  }

  /** @throws DroverError `conflict` that names bots whose configuration would not be valid; `bad_request` for secrets. */
  #checkConfigs(
    specs: readonly Readonly<BotSpec>[],
    version: KindVersion | null,
    patch: JsonObject | null,
    mayRedirect: boolean,
  ): void {
    const { registry, schemas, versions } = this.#parts;
    const faults: string[] = [];
    for (const spec of specs) {
      if (version && spec.kind !== version.kind) {
        throw new DroverError(
          'bad_request',
          `bot ${spec.id} is of the kind ${spec.kind}, not ${version.kind}`,
        );
      }
      const id = version?.id ?? versions.idFor(spec);
      if (patch && schemas.secretPaths(spec.kind, patch, id).length > 0) {
        throw new DroverError(
          'bad_request',
          'a rollout changes no secrets: change them bot by bot',
        );
      }
      const config = patch ? registry.patched(spec, patch) : spec.config;
      try {
        schemas.checkConfig(spec.kind, config, id);
        if (patch && !mayRedirect) schemas.checkRedirects(spec.kind, spec.config, config, patch);
      } catch (thrown) {
        faults.push(`${spec.id}: ${messageOf(thrown)}`);
      }
    }
    if (faults.length === 0) return;
    const named = firstOf(faults, NAMED_BOTS);
    throw new DroverError('conflict', `configurations would not be valid: ${named}`);
  }

  get #all(): Operations {
    if (!this.#operations) throw new Error('there are no operations yet');
    return this.#operations;
  }
}
