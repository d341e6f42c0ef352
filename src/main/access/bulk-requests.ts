// Runs in main. Makes operations of the requests that are about many bots.

import type { Controller } from '../../cluster/cluster.js';
import type { ActionOutcome, CreateBotBody } from '../../shared/contract/bots.js';
import type { ActivityItem } from '../../shared/contract/events.js';
import { MAX_PARALLEL } from '../../shared/contract/operation-bounds.js';
import type { OperationBot } from '../../shared/contract/operations.js';
import type { ControlMethods, OperationActor } from '../../shared/contract/threads.js';
import { botsText } from '../../shared/counted.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import type { BotRegistry } from '../bots/registry.js';
import { type Operation, type OperationTask, shownBot } from '../operations/operation.js';
import type { Operations } from '../operations/operations.js';
import type { BotAccess } from './bot-access.js';
import type { PressureGauge } from './pressure-gauge.js';

type Input<K extends keyof ControlMethods> = Parameters<ControlMethods[K]>[0];
type Output<K extends keyof ControlMethods> = ReturnType<ControlMethods[K]>;
type Activity = ActivityItem['event'];

/** Faults of lines that an answer names; the others are counted. */
const MAX_FAULTS = 20;
/** Nodes of a cluster are asked for so many new bots at once. */
const PARALLEL_CREATIONS = 64;

/** What is done to each bot, here or on its node. */
export type BotCalls = Pick<Controller, 'actOnBot' | 'endBot' | 'createBot'>;

export interface BulkRequestsParts {
  operations: Operations;
  registry: BotRegistry;
  bots: BotAccess;
  pressure: Pick<PressureGauge, 'admitStart'>;
  /** Publishes at the end of the turn. */
  publish: (...items: ActivityItem[]) => void;
  isInCluster: boolean;
}

export class BulkRequests {
  readonly #parts: BulkRequestsParts;
  #calls: BotCalls | undefined;

  constructor(parts: BulkRequestsParts) {
    this.#parts = parts;
  }

  /** @param calls of this node, or of its cluster. */
  through(calls: BotCalls): void {
    this.#calls = calls;
  }

  /** Acts on bots, and tells who did it. */
  async act(input: Input<'actOnMany'>, gone?: AbortSignal): Promise<Output<'actOnMany'>> {
    const { action, ids, options, wait_ms, rights, by } = input;
    if (action === 'start') this.#parts.pressure.admitStart();
    const isMany = ids.length > 1;
    const told = this.#activities(`bot.${action}`, by);
    const task: OperationTask = {
      type: 'action',
      title: `${action} ${botsText(ids.length)}`,
      actor: tokenOf(by),
      bots: ids,
      options,
      run: async (id) => {
        const at = { id, rights };
        const shown =
          action === 'stop' || action === 'delete'
            ? await this.#called.endBot({ ...at, action })
            : await this.#called.actOnBot({ ...at, action, ...(isMany && { many: true }) });
        return { status: this.#statusOf(id, shown) };
      },
      ended: (bot, operation) => told.ended(bot, operation),
    };
    const isEnding = action === 'stop' || action === 'delete';
    const operation = await this.#parts.operations.add(task, isEnding);
    if (ids.length === 0) told.done(null, operation.id);
    await this.#parts.operations.wait(operation, wait_ms, gone);
    return { ...this.#answer(operation), results: resultsOf(operation) };
  }

  /**
   * Creates bots, in a single service all or none: each is checked before, and they are stored in one transaction.
   * @throws DroverError `bad_request` that names the lines that are wrong; `not_stored`; `unavailable`.
   */
  async create(input: Input<'createMany'>, gone?: AbortSignal): Promise<Output<'createMany'>> {
    const { bots, lines, faults, wait_ms, rights, by } = input;
    const { operations, registry, isInCluster } = this.#parts;
    const told = this.#activities('bot.create', by);
    const specs = this.#checked(bots, lines, faults, rights);
    const byId = new Map(bots.map((bot) => [bot.id, bot]));
    const base = {
      type: 'create' as const,
      title: `create ${botsText(bots.length)}`,
      actor: tokenOf(by),
      bots: bots.map(({ id }) => id),
    };
    const options = { stagger_ms: 0, max_failed: null };
    let operation: Operation;
    if (isInCluster) {
      operation = await operations.add({
        ...base,
        options: { ...options, parallel: PARALLEL_CREATIONS },
        run: async (id) => {
          const bot = byId.get(id) as CreateBotBody;
          const shown = await this.#called.createBot({ bot, rights, many: true });
          return { status: this.#statusOf(id, shown) };
        },
        ended: (bot, id) => told.ended(bot, id),
      });
    } else {
      this.#parts.bots.admitNew(specs, rights);
      await registry.createMany(specs);
      operation = await operations.add({
        ...base,
        options: { ...options, parallel: MAX_PARALLEL },
        run: async (id) => {
          const isToRun = byId.get(id)?.desired === 'running';
          if (isToRun) await this.#parts.bots.act({ id, action: 'start', rights, many: true });
          return { status: this.#statusOf(id, null) };
        },
      });
      for (const { id } of bots) told.done(id, operation.id);
    }
    await operations.wait(operation, wait_ms, gone);
    return this.#answer(operation);
  }

  /** @throws DroverError `bad_request` with the faults of all lines. */
  #checked(
    bots: Input<'createMany'>['bots'],
    lines: readonly number[],
    faults: readonly (readonly [line: number, fault: string])[],
    rights: Input<'createMany'>['rights'],
  ) {
    const found = [...faults];
    const lineOf = new Map<string, number>();
    const specs = bots.flatMap((bot, at) => {
      const line = lines[at] as number;
      const first = lineOf.get(bot.id);
      if (first !== undefined) {
        found.push([line, `line ${first} has the id ${bot.id} too`]);
        return [];
      }
      lineOf.set(bot.id, line);
      try {
        return this.#parts.bots.checkNew(bot, rights, this.#parts.isInCluster) ?? [];
      } catch (thrown) {
        if (!(thrown instanceof DroverError)) throw thrown;
        found.push([line, messageOf(thrown)]);
        return [];
      }
    });
    if (found.length > 0) throw new DroverError('bad_request', faultText(found));
    return specs;
  }

  get #called(): BotCalls {
    if (!this.#calls) throw new Error('there is nothing to call yet');
    return this.#calls;
  }

  /** @param shown what its node has answered; of a bot of this one, null or a wrapper. */
  #statusOf(id: string, shown: unknown): string {
    const { status } = (shown ?? {}) as { status?: string };
    return status ?? this.#parts.registry.statusOf(id) ?? 'deleted';
  }

  #answer(operation: Operation): Output<'createMany'> {
    return { operation: this.#parts.operations.shown(operation.record) };
  }

  /** Tells what is done to each bot, as it is done. */
  #activities(activity: Activity['activity'], by: OperationActor) {
    const { publish } = this.#parts;
    const { name: actor, token, address, client } = by;
    const event = (
      operation: string,
      session_id: string | null,
      error: string | null,
      took_ms: number,
    ): ActivityItem => ({
      kind: 'activity',
      event: {
        timestamp_ms: Date.now(),
        ...{ activity, actor, token, address, client, session_id, target: null, operation },
        ...{ outcome: error === null ? 'done' : 'failed', error, took_ms, detail: null },
      },
    });
    const asked = Date.now();
    return {
      /** @param bot null when the request is about none. */
      done(bot: string | null, operation: string): void {
        publish(event(operation, bot, null, Date.now() - asked));
      },
      ended(bot: Readonly<OperationBot>, operation: string): void {
        const took = (bot.ended_ms ?? 0) - (bot.began_ms ?? 0);
        publish(event(operation, bot.id, bot.error, Math.max(0, took)));
      },
    };
  }
}

/** By bot, as an answer has them; null while the operation has not ended. */
function resultsOf(operation: Operation): Record<string, ActionOutcome> | null {
  if (!operation.hasEnded) return null;
  return Object.fromEntries(
    operation.bots.map((bot): [string, ActionOutcome] => {
      const { id, result, status, error } = shownBot(bot);
      if (result === 'done') return [id, { status: status ?? '' }];
      return [id, { error: result === 'failed' ? (error ?? '') : `${result}: ${error ?? ''}` }];
    }),
  );
}

/** Not its address: who may see the operation need not see that. */
function tokenOf({ name, token }: OperationActor): OperationTask['actor'] {
  return { name, token };
}

/** `line 17: config.url must be string; line 20: …; and 5 more lines`. */
function faultText(faults: readonly (readonly [line: number, fault: string])[]): string {
  const sorted = faults.toSorted(([a], [b]) => a - b);
  const told = sorted.slice(0, MAX_FAULTS).map(([line, fault]) => `line ${line}: ${fault}`);
  const more = sorted.length - told.length;
  return [...told, ...(more > 0 ? [`and ${more} more lines`] : [])].join('; ');
}
