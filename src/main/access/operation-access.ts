// Runs in main. What callers see of operations, and what they may do with them.

import type {
  OperationBots,
  OperationList,
  Operation as ShownOperation,
} from '../../shared/contract/operations.js';
import { reaches } from '../../shared/contract/rights.js';
import type { ControlMethods, Viewer } from '../../shared/contract/threads.js';
import { botsText } from '../../shared/counted.js';
import { DroverError } from '../../shared/errors.js';
import type { BotRegistry } from '../bots/registry.js';
import { shownBot } from '../operations/operation.js';
import { noOperation, type Operations } from '../operations/operations.js';
import type { OperationRecord, RecordedBot } from '../store/operation-store.js';

type Input<K extends keyof ControlMethods> = Parameters<ControlMethods[K]>[0];
type Sees = (bot: Readonly<RecordedBot>) => boolean;

/** Bots that a list is made from for a limited token, at most: they are read from the disk. Older operations are left out. */
const MAX_LISTED_BOTS = 50_000;

/**
 * A token that is limited to some bots sees, of operations of others, only the bots that it reaches now, and that were the same bots
 * then: their number, and their results. It sees all of those that it began, because it got their results.
 */
export class OperationAccess {
  readonly #operations: Operations;
  readonly #registry: Pick<BotRegistry, 'identityOf'>;

  constructor(operations: Operations, registry: Pick<BotRegistry, 'identityOf'>) {
    this.#operations = operations;
    this.#registry = registry;
  }

  /** Newest first. */
  list({ limit, viewer }: Input<'operations'>): OperationList {
    const operations: ShownOperation[] = [];
    let read = 0;
    for (const record of this.#operations.all()) {
      if (operations.length >= limit || read > MAX_LISTED_BOTS) break;
      if (this.#sees(record, viewer)) read += record.bots;
      const shown = this.#shown(record, viewer);
      if (shown) operations.push(shown);
    }
    return { operations };
  }

  /**
   * Answers when it has ended, or after `wait_ms`. @param gone ends the wait.
   * @throws DroverError `not_found`, also for one of whose bots the caller sees none.
   */
  async get(
    { id, wait_ms, viewer }: Input<'operation'>,
    gone?: AbortSignal,
  ): Promise<ShownOperation> {
    this.#expect(id, viewer);
    const open = this.#operations.open(id);
    if (open) await this.#operations.wait(open, wait_ms, gone);
    return this.#expect(id, viewer);
  }

  /** A page of its bots. @throws DroverError `not_found`, `bad_request`. */
  bots({ id, results, limit, cursor, viewer }: Input<'operationBots'>): OperationBots {
    this.#expect(id, viewer);
    const record = this.#operations.record(id);
    const sees = this.#sees(record, viewer);
    const after = cursor === null ? 0 : Number(cursor);
    const page: OperationBots = { bots: [], next: null };
    let at = 0;
    for (const bot of this.#operations.bots(record)) {
      at += 1;
      if (at <= after || (results && !results.includes(bot.result))) continue;
      if (sees && !sees(bot)) continue;
      if (page.bots.length === limit) {
        page.next = String(at - 1);
        break;
      }
      page.bots.push(shownBot(bot));
    }
    return page;
  }

  /** @throws DroverError `not_found`; `forbidden` for one of another token, for a limited one; `conflict` when it has ended. */
  change({ id, change, viewer }: Input<'changeOperation'>): ShownOperation {
    const record = this.expectOwn(id, change, viewer);
    const operation = this.#operations.open(id);
    const isChanged =
      change === 'cancel' ? operation?.cancel(`canceled by ${viewer.name}`) : operation?.[change]();
    if (!isChanged) {
      throw new DroverError('conflict', `operation ${id} is ${record.state}: it cannot ${change}`);
    }
    return this.#expect(id, viewer);
  }

  /** @throws DroverError `not_found`; `forbidden` for one of another token, for a limited one. */
  expectOwn(id: string, change: string, viewer: Viewer): Readonly<OperationRecord> {
    this.#expect(id, viewer);
    const record = this.#operations.record(id);
    if (!this.#sees(record, viewer)) return record;
    throw new DroverError(
      'forbidden',
      `this token is limited to some bots: it can ${change} only operations that it began`,
    );
  }

  #expect(id: string, viewer: Viewer): ShownOperation {
    const shown = this.#shown(this.#operations.record(id), viewer);
    if (!shown) throw noOperation(id);
    return shown;
  }

  /** Null when the caller sees none of its bots. */
  #shown(record: Readonly<OperationRecord>, viewer: Viewer): ShownOperation | null {
    const shown = this.#operations.shown(record);
    const sees = this.#sees(record, viewer);
    if (!sees) return shown;
    const counts = { ...shown.counts };
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] = 0;
    let bots = 0;
    for (const bot of this.#operations.bots(record)) {
      if (!sees(bot)) continue;
      counts[bot.result] += 1;
      bots += 1;
    }
    // The title and the reason have numbers of all bots.
    const title = `${record.type}: ${botsText(bots)} of this token`;
    return bots === 0 ? null : { ...shown, title, reason: null, bots, counts };
  }

  /** Which bots the caller sees; null for all. */
  #sees({ actor }: Readonly<OperationRecord>, { reach, token }: Viewer): Sees | null {
    if (reach === null || actor.token === token) return null;
    return ({ id, made }) => {
      const now = this.#registry.identityOf(id);
      return now !== undefined && now.incarnation === made && reaches(reach, id, now.labels);
    };
  }
}
