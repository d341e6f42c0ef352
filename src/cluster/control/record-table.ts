// Runs in main. Owns the records of a bucket in memory, with their revisions; those of bots by node and by host group too.

import type { BotRecord } from './parts.js';

export interface Revised<R = BotRecord> {
  record: R;
  revision: number;
}

const NONE: ReadonlySet<string> = new Set();

/** What is older than what it has changes nothing: the watch and the answers to writes overtake each other. */
export class RecordTable<R> {
  /** Bounded by the bucket, like the following. */
  readonly #entries = new Map<string, Revised<R>>();
  /** Revision of the marker of each record that was deleted. */
  readonly #deleted = new Map<string, number>();
  /** Records that this version cannot read. */
  readonly #unreadable = new Set<string>();

  get size(): number {
    return this.#entries.size;
  }

  ids(): Iterable<string> {
    return this.#entries.keys();
  }

  get(id: string): Readonly<Revised<R>> | undefined {
    return this.#entries.get(id);
  }

  /** Of its record, or of the marker that it was deleted; 0 for none. */
  revisionOf(id: string): number {
    return this.#entries.get(id)?.revision ?? this.#deleted.get(id) ?? 0;
  }

  /** Revision of the marker, undefined if there is none. */
  deletedAt(id: string): number | undefined {
    return this.#deleted.get(id);
  }

  isUnreadable(id: string): boolean {
    return this.#unreadable.has(id);
  }

  /** @returns whether that is news. */
  set(id: string, record: R, revision: number): boolean {
    if (revision <= this.revisionOf(id)) return false;
    this.drop(id);
    this.#entries.set(id, { record, revision });
    return true;
  }

  /** @returns whether that is news. */
  setDeleted(id: string, revision: number): boolean {
    if (revision < this.revisionOf(id)) return false;
    const wasDeleted = this.#deleted.has(id);
    this.drop(id);
    this.#deleted.set(id, revision);
    return !wasDeleted;
  }

  setUnreadable(id: string): void {
    this.drop(id);
    this.#unreadable.add(id);
  }

  /** There is neither a record nor a marker. */
  drop(id: string): void {
    this.#entries.delete(id);
    this.#deleted.delete(id);
    this.#unreadable.delete(id);
  }
}

export class BotTable extends RecordTable<BotRecord> {
  readonly #byNode = new Map<string, Set<string>>();
  readonly #byGroup = new Map<string, Set<string>>();

  on(node: string): ReadonlySet<string> {
    return this.#byNode.get(node) ?? NONE;
  }

  nodes(): Iterable<string> {
    return this.#byNode.keys();
  }

  inGroup(group: string): ReadonlySet<string> {
    return this.#byGroup.get(group) ?? NONE;
  }

  override set(id: string, record: BotRecord, revision: number): boolean {
    if (!super.set(id, record, revision)) return false;
    add(this.#byNode, record.node, id);
    if (record.spec.host_group !== undefined) add(this.#byGroup, record.spec.host_group, id);
    return true;
  }

  override drop(id: string): void {
    const record = this.get(id)?.record;
    super.drop(id);
    if (!record) return;
    remove(this.#byNode, record.node, id);
    if (record.spec.host_group !== undefined) remove(this.#byGroup, record.spec.host_group, id);
  }
}

function add(index: Map<string, Set<string>>, name: string, id: string): void {
  const ids = index.get(name);
  if (ids) ids.add(id);
  else index.set(name, new Set([id]));
}

function remove(index: Map<string, Set<string>>, name: string, id: string): void {
  const ids = index.get(name);
  ids?.delete(id);
  if (ids?.size === 0) index.delete(name);
}
