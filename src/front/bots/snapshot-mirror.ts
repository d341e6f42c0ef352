import { type BotSnapshot, hasLeft } from '../../shared/contract/events.js';
import type { NameHasher } from '../../shared/contract/name-hash.js';
import type { RingReader } from '../../shared/memory/ring-reader.js';
import { frameData, KIND_CODE } from '../../shared/stream/frame.js';
import { LabelHistory } from '../../shared/stream/label-history.js';
import { BotCounts } from './bot-counts.js';
import { MatchHistories } from './match-histories.js';

/** One bot's snapshot, as JSON and as an object. */
export interface MirroredSession {
  /** Data of its `session` frame. */
  eventJson: string;
  snapshot: BotSnapshot;
}

/**
 * Runs in a front thread. Owns a copy of every bot's snapshot, kept current from the ring. Lists need no other thread, and
 * REST never shows an older state than the front's streams have sent.
 */
export class SnapshotMirror {
  /** The bots' labels over time, as far back as this front has seen. */
  readonly labels = new LabelHistory();
  /** Which bots matched the queries of open streams, since each was opened. */
  readonly matches: MatchHistories;
  readonly #reader: RingReader;
  readonly #names: NameHasher;
  readonly counts = new BotCounts();
  readonly #sessions = new Map<string, MirroredSession>();
  /** Frames below this are in the mirror. */
  #next = 0;
  #version = 0;
  #members = 0;
  readonly #rebase: () => Promise<void>;

  /** @param rebase is called when frames were missed: it gets a fresh baseline and calls {@link reset} with it. */
  constructor(reader: RingReader, names: NameHasher, rebase: () => Promise<void>) {
    this.#reader = reader;
    this.#names = names;
    this.#rebase = rebase;
    this.matches = new MatchHistories(names, () => this.all());
  }

  /** Increases with every change. */
  get version(): number {
    return this.#version;
  }

  /** Increases when bots come or go. */
  get members(): number {
    return this.#members;
  }

  /** The sequence number from which a stream continues after these snapshots. */
  get next(): number {
    return this.#next;
  }

  /** Starts over from what the broadcaster knows: the `session` events' JSON as of just before frame `next`. */
  reset(next: number, sessions: readonly string[]): void {
    // Frames on the ring show exactly when labels changed. After missed frames that is unknown.
    if (!this.#read()) {
      this.labels.restart(next);
      this.matches.restart(next);
    }
    const gone = new Set(this.#sessions.keys());
    this.#sessions.clear();
    this.counts.clear();
    for (const json of sessions) gone.delete(this.#apply(json, next, next));
    for (const id of gone) this.#forget(id, next);
    this.#moveTo(next);
    this.#version += 1;
    this.#members += 1;
  }

  /**
   * Reads all published frames. Protects and releases the ring; not to be called while it is protected.
   * @returns false if frames were missed: the mirror is stale until {@link reset} is called.
   */
  sync(): boolean {
    const isCurrent = this.#read();
    // Rejects when the stream has been replaced, and then nothing uses this mirror any more.
    if (!isCurrent) this.#rebase().catch(() => {});
    return isCurrent;
  }

  /** Calls `task` when all published frames are in the mirror: at once, unless the ring has lapped it. */
  whenCurrent(task: () => void | Promise<void>): void | Promise<void> {
    if (this.#read()) return task();
    return this.#rebase().then(() => this.whenCurrent(task));
  }

  #read(): boolean {
    const head = this.#reader.head();
    if (this.#next >= head) return true;
    if (!this.#reader.protect(this.#next)) return false;
    for (let seq = this.#next; seq < head; seq++) {
      if (this.#reader.kind(seq) !== KIND_CODE.session) continue;
      this.#apply(frameData(this.#reader.text(seq)), seq, seq + 1);
      this.#version += 1;
    }
    this.#reader.release();
    this.#moveTo(head);
    return true;
  }

  get(id: string): MirroredSession | undefined {
    return this.#sessions.get(id);
  }

  /** Ids of all bots, in order of appearance. */
  ids(): IterableIterator<string> {
    return this.#sessions.keys();
  }

  /** All bots, in order of appearance. */
  all(): IterableIterator<MirroredSession> {
    return this.#sessions.values();
  }

  /** Applies a snapshot: its labels count from frame `from`, the previous ones until before `until`. @returns the bot's id. */
  #apply(eventJson: string, from: number, until: number): string {
    const { snapshot } = JSON.parse(eventJson) as { snapshot: BotSnapshot };
    const { id, labels } = snapshot;
    const before = this.#sessions.get(id)?.snapshot;
    if (hasLeft(snapshot.status)) {
      this.counts.change(before, undefined);
      this.#members += 1;
      this.#sessions.delete(id);
      this.#forget(id, until);
    } else {
      this.counts.change(before, snapshot);
      if (!before) this.#members += 1;
      this.#sessions.set(id, { eventJson, snapshot });
      const hash = this.#names.of(id);
      this.labels.set(hash, labels, from, until);
      this.matches.see(hash, snapshot, from, until);
    }
    return id;
  }

  /** The bot does not exist from frame `until` on. */
  #forget(id: string, until: number): void {
    const hash = this.#names.of(id);
    this.labels.remove(hash, until);
    this.matches.see(hash, undefined, until, until);
  }

  #moveTo(next: number): void {
    const tail = this.#reader.tail();
    this.#next = next;
    this.labels.known = next;
    this.labels.prune(tail);
    this.matches.moveTo(next, tail);
  }
}
