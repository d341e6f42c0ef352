// Runs in main. Owns all operations: those under way, and the records of those that have ended.

import { randomBytes } from 'node:crypto';
import type { OperationItem } from '../../shared/contract/events.js';
import { type BotResult, hasEnded } from '../../shared/contract/operation-bounds.js';
import type { Operation as ShownOperation } from '../../shared/contract/operations.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError } from '../../shared/errors.js';
import type { OperationRecord, OperationStore, RecordedBot } from '../store/operation-store.js';
import {
  Operation,
  type OperationClock,
  type OperationTask,
  type OperationWork,
} from './operation.js';

/** How long an operation is kept after its end, in ms. */
const KEPT_MS = 86_400_000;
/** Operations that are kept. One more removes the oldest that has ended. */
const MAX_OPERATIONS = 1000;
/** Their bots, in all: some 30 MB on disk. More remove the oldest operations that have ended. */
const MAX_BOTS = 300_000;
/** Operations that have not ended. One more is refused with `overloaded`. */
const MAX_OPEN = 400;
/** Beyond those, for operations that end bots: what costs too much must not keep its own end away. */
const RESERVED = 100;
/** Requests that wait for the end of operations. One more is answered at once: they must not take all places of calls to main. */
const MAX_WAITING = 500;
/** Results are stored this much later, in ms: a run of the service that is killed meanwhile does not know them any more. */
const STORE_MS = 1000;
/** Least time between two events about one operation, in ms. */
const TELL_MS = 250;

const KILLED = 'the service ended before the operation';
const STOPPED = 'the service was stopped';

export const SYSTEM_OPERATION_CLOCK: OperationClock = {
  now: () => Date.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
};

export interface OperationsParts {
  store: OperationStore;
  /** Of the bot that has this id now; '' for none. */
  incarnationOf: (bot: string) => string;
  publish: (item: OperationItem) => void;
  /** Name of this node; null in a single service. */
  node: string | null;
  /** What is left to do of an operation that the last run of the service has not ended; null when it cannot continue. */
  resume?: (record: Readonly<OperationRecord>) => OperationWork | null;
  clock?: OperationClock;
}

/** An operation in memory: it has not ended, or its end is not stored yet. */
interface Held {
  operation: Operation;
  /** After a restart of the service. */
  continues: boolean;
  /** Indexes of the bots that were not stored as they are. */
  changed: Set<number>;
  storeTimer: (() => void) | undefined;
  tellTimer: (() => void) | undefined;
  /** The write that is under way. Never rejects. */
  writing: Promise<void> | undefined;
}

export class Operations {
  readonly #parts: OperationsParts;
  readonly #clock: OperationClock;
  /** By id, oldest first. Bounded by MAX_OPERATIONS. */
  readonly #records = new Map<string, OperationRecord>();
  readonly #held = new Map<string, Held>();
  /** Those that the last run has not ended, until {@link start}. */
  #restored: OperationRecord[] = [];
  #isStopped = false;
  #waiting = 0;

  /** Operations that the last run has not ended are `interrupted`, unless they can continue. */
  constructor(parts: OperationsParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? SYSTEM_OPERATION_CLOCK;
    for (const record of parts.store.records()) {
      this.#records.set(record.id, record);
      if (!hasEnded(record)) this.#restore(record);
    }
  }

  /** Begins operations that continue after the restart of the service. To be called once, when bots can be acted on. */
  start(): void {
    for (const record of this.#restored.splice(0)) {
      this.open(record.id)?.begin();
      this.#tell(record);
    }
  }

  /**
   * Begins an operation: its record is on disk when this resolves, unless the disk accepts no writes. @param isEnding whether it ends bots.
   * @throws DroverError `overloaded`, `unavailable`.
   */
  async add(task: OperationTask, isEnding = false): Promise<Operation> {
    this.#admit(task.bots.length, isEnding);
    const now = this.#clock.now();
    const { type, title, actor, options, rollout, plan } = task;
    const id = `${now.toString(36).padStart(9, '0')}-${randomBytes(4).toString('hex')}`;
    await task.prepare?.(id);
    const counts = { ...NONE, waiting: task.bots.length };
    const record: OperationRecord = {
      ...{ id, type, title, state: 'waiting', reason: null, actor },
      ...{ began_ms: now, ended_ms: null, options, bots: task.bots.length, counts },
      ...(rollout && { rollout }),
      ...(plan && { plan }),
    };
    const bots = task.bots.map((id): RecordedBot => {
      const made = this.#parts.incarnationOf(id);
      return { id, made, result: 'waiting', text: null, began_ms: null, ended_ms: null };
    });
    this.#records.set(record.id, record);
    const held = this.#hold(task, record, bots);
    for (const at of bots.keys()) held.changed.add(at);
    await this.#store(held);
    held.operation.begin();
    this.#tell(record);
    return held.operation;
  }

  /** Newest first. */
  *all(): Generator<Readonly<OperationRecord>> {
    this.#removeOld();
    yield* [...this.#records.values()].reverse();
  }

  /** @throws DroverError `not_found`. */
  record(id: string): Readonly<OperationRecord> {
    this.#removeOld();
    const record = this.#records.get(id);
    if (!record) throw noOperation(id);
    return record;
  }

  /** Undefined for one that has ended. */
  open(id: string): Operation | undefined {
    const operation = this.#held.get(id)?.operation;
    return operation?.hasEnded ? undefined : operation;
  }

  /** Those that have not ended. */
  *openOnes(): Generator<Operation> {
    for (const { operation } of this.#held.values()) if (!operation.hasEnded) yield operation;
  }

  /** Changes what is said of one that may have ended. */
  note(id: string, change: Partial<OperationRecord>): void {
    const record = this.#records.get(id);
    if (!record) return;
    Object.assign(record, change);
    if (this.#held.has(id)) {
      this.#changed(id, null);
      return;
    }
    this.#parts.publish({ kind: 'operation', event: this.shown(record) });
    // The store reports the fault; it is in memory, so it is shown as it is.
    this.#parts.store.put(record, [], []).catch(() => {});
  }

  /** What has become of its bots, in their order. */
  bots(record: Readonly<OperationRecord>): Iterable<Readonly<RecordedBot>> {
    return this.#held.get(record.id)?.operation.bots ?? this.#parts.store.bots(record);
  }

  /** Resolves when it has ended, after so many ms, null for any time, or when nobody waits any more. */
  async wait(operation: Operation, ms: number | null, gone?: AbortSignal): Promise<void> {
    const isNoWait = ms === 0 || gone?.aborted || this.#waiting >= MAX_WAITING;
    if (operation.hasEnded || isNoWait) return;
    const left = new Deferred();
    const leave = (): void => left.resolve();
    gone?.addEventListener('abort', leave);
    const cancelTimer = ms === null ? undefined : this.#clock.after(ms, leave);
    this.#waiting += 1;
    try {
      await Promise.race([operation.ended, left.promise]);
    } finally {
      this.#waiting -= 1;
      cancelTimer?.();
      gone?.removeEventListener('abort', leave);
    }
  }

  /** As clients see it. */
  shown({ plan: _, ...record }: Readonly<OperationRecord>): ShownOperation {
    const { node } = this.#parts;
    return { ...record, counts: { ...record.counts }, ...(node !== null && { node }) };
  }

  /** Begins no further bot. What is known is stored when this resolves. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const all = [...this.#held.values()];
    for (const { operation, continues } of all) {
      if (continues) operation.suspend();
      else operation.interrupt(STOPPED);
    }
    await Promise.all(
      all.map(async (held) => {
        await held.writing;
        await this.#store(held);
        held.storeTimer?.();
        held.tellTimer?.();
      }),
    );
  }

  #restore(record: OperationRecord): void {
    const bots = [...this.#parts.store.bots(record)];
    const task = this.#parts.resume?.(record) ?? null;
    const changed: number[] = [];
    for (const [at, bot] of bots.entries()) {
      if (bot.result !== 'waiting' && bot.result !== 'running') continue;
      // One that was waiting may have been begun since.
      bot.result = task ? 'waiting' : 'unknown';
      changed.push(at);
    }
    record.counts = { ...NONE };
    for (const { result } of bots) record.counts[result] += 1;
    if (!task) {
      Object.assign(record, { state: 'interrupted', reason: KILLED, ended_ms: this.#clock.now() });
    }
    this.#restored.push(record);
    const held = this.#hold(task ?? NOTHING, record, bots);
    for (const at of changed) held.changed.add(at);
    void this.#store(held);
  }

  #hold(task: OperationWork, record: OperationRecord, bots: RecordedBot[]): Held {
    const { id } = record;
    const held: Held = {
      operation: new Operation(task, {
        ...{ record, bots, clock: this.#clock, incarnationOf: this.#parts.incarnationOf },
        changed: (at) => this.#changed(id, at),
      }),
      ...{ continues: task.continues ?? false, changed: new Set<number>() },
      ...{ storeTimer: undefined, tellTimer: undefined, writing: undefined },
    };
    this.#held.set(id, held);
    return held;
  }

  #changed(id: string, at: number | null): void {
    const held = this.#held.get(id);
    if (!held) return;
    if (at !== null) held.changed.add(at);
    if (held.operation.hasEnded && at === null) {
      this.#tell(held.operation.record);
      if (!this.#isStopped) void this.#store(held);
      return;
    }
    held.tellTimer ??= this.#clock.after(TELL_MS, () => this.#tell(held.operation.record));
    this.#storeLater(held);
  }

  #storeLater(held: Held): void {
    if (this.#isStopped) return;
    held.storeTimer ??= this.#clock.after(STORE_MS, () => {
      held.storeTimer = undefined;
      void this.#store(held);
    });
  }

  /** Puts it on the stream. */
  #tell(record: Readonly<OperationRecord>): void {
    const held = this.#held.get(record.id);
    held?.tellTimer?.();
    if (held) held.tellTimer = undefined;
    this.#parts.publish({ kind: 'operation', event: this.shown(record) });
  }

  /** Stores what has changed, one write at a time. What the disk does not accept is tried again. Never rejects. */
  async #store(held: Held): Promise<void> {
    if (held.writing) return this.#storeLater(held);
    held.writing = this.#write(held);
    await held.writing;
    held.writing = undefined;
  }

  async #write(held: Held): Promise<void> {
    const { operation, changed } = held;
    const { record, hasEnded: isLast } = operation;
    held.storeTimer?.();
    held.storeTimer = undefined;
    const written = [...changed];
    changed.clear();
    const snapshot = { ...record, counts: { ...record.counts } };
    try {
      await this.#parts.store.put(snapshot, operation.bots, written);
      // From now on it is read from the disk.
      if (isLast) this.#held.delete(operation.id);
    } catch {
      // The store reports the fault. It is in memory, so it is shown as it is.
      for (const at of written) changed.add(at);
      this.#storeLater(held);
    }
  }

  /** Makes room for another operation. @throws DroverError `overloaded`, `unavailable`. */
  #admit(bots: number, isEnding: boolean): void {
    if (this.#isStopped) throw new DroverError('unavailable');
    this.#removeOld();
    const open = [...this.#held.values()].filter(({ operation }) => !operation.hasEnded).length;
    if (open >= MAX_OPEN + (isEnding ? RESERVED : 0)) {
      throw new DroverError(
        'overloaded',
        `${open} operations have not ended, which is the limit: wait, or cancel some`,
        1,
      );
    }
    let total = bots;
    for (const record of this.#records.values()) total += record.bots;
    const surplus: OperationRecord[] = [];
    for (const record of this.#records.values()) {
      const isFull = this.#records.size - surplus.length >= MAX_OPERATIONS || total > MAX_BOTS;
      if (!isFull) break;
      if (record.ended_ms === null) continue;
      surplus.push(record);
      total -= record.bots;
    }
    if (total > MAX_BOTS) {
      throw new DroverError(
        'overloaded',
        `operations that have not ended have ${total - bots} bots, and ${MAX_BOTS} is the limit: wait, or cancel some`,
        1,
      );
    }
    this.#remove(surplus);
  }

  #removeOld(): void {
    const before = this.#clock.now() - KEPT_MS;
    const old = [...this.#records.values()].filter(
      ({ ended_ms: ended }) => ended !== null && ended < before,
    );
    this.#remove(old);
  }

  #remove(records: readonly OperationRecord[]): void {
    if (records.length === 0) return;
    for (const { id } of records) {
      this.#records.delete(id);
      // Its end may not be stored: a disk that accepts no writes must not fill the memory.
      this.#held.get(id)?.storeTimer?.();
      this.#held.delete(id);
    }
    // What stays on the disk is removed after the next start.
    this.#parts.store.remove(records).catch(() => {});
  }
}

const NONE: Readonly<Record<BotResult, number>> = {
  waiting: 0,
  running: 0,
  done: 0,
  failed: 0,
  skipped: 0,
  unknown: 0,
};

/** In place of the work of an operation that does not continue. */
const NOTHING: OperationWork = { run: async () => ({ skipped: KILLED }) };

export function noOperation(id: string): DroverError {
  return new DroverError('not_found', `no operation ${JSON.stringify(id)}`);
}
