// Runs in the journal thread. Owns the LMDB environment of the journal and its tables.

import type { Config } from '../shared/contract/config.js';
import type { BotState } from '../shared/contract/journal-messages.js';
import type { Database, RootDatabase } from '../shared/lmdb/lmdb.js';
import { openFile } from '../shared/lmdb/open-file.js';
import type { BlockPacker } from './block-packer.js';

/** Version of the file format; a journal of another version is set aside. */
export const FORM = 2;
/** Frames of one segment: numbers in a posting are 16 bits. */
export const SEGMENT = 65_536;

export type NameKey = readonly [low: number, high: number];
/** A bot and the frame with which it got a state. */
export type StateKey = [low: number, high: number, seq: number];

/** The journal's state, changed in the same transaction as the data. */
export interface State {
  form: number;
  epoch: string;
  /** Frames below this are in the journal, or lost and declared. */
  next: number;
  /** Segments below this have their postings. */
  posted: number;
  /** The highest time of a frame. */
  clock: number;
  /** Bytes of all tables. */
  bytes: number;
  /** Approximate bytes of the statistics. */
  stats: number;
  /** Lost sequence numbers, and in how many runs; numbers that were never used are not counted. */
  lost: number;
  holes: number;
}

/** Counts of one bucket of time. */
export interface BucketCounts {
  /** Counts by the code of the level; frames without a level come last. */
  levels: number[];
  /** Counts by scope. */
  scopes: Record<string, number>;
}

export interface Tables {
  /**
   * Commits what the task writes, all of it or nothing. @param waits for the disk, unless the configuration never does.
   * @throws Error when the disk rejects the write, or has rejected the last flush.
   */
  commit(task: () => void, waits?: boolean): void;
  /** Closes the journal; nothing of it may be used after this. */
  close(): Promise<void>;
  root: RootDatabase;
  state: Database<State, string>;
  /** Blocks by their first sequence number, decompressed by lmdb. */
  blocks: Database<Buffer, number>;
  /** The same table's rows as they are stored: compressed by {@link BlockPacker}, or by lmdb in earlier versions. */
  packed: Database<Buffer, number>;
  /** The heads of the blocks, by the same number. */
  heads: Database<Buffer, number>;
  /** Positions of one session's frames in one segment, 16 bits each, ascending. */
  postings: Database<Buffer, [...NameKey, number]>;
  /** The sessions that have postings in a segment: pairs of words. */
  segments: Database<Buffer, number>;
  /** Counts by the first second of the bucket, Unix epoch. */
  stats: Database<BucketCounts, number>;
  /** Labels that a bot got with a frame, null when it was deleted; by frame and session. */
  labels: Database<Record<string, string> | null, [number, ...NameKey]>;
  /** States that bots got, null when they had left: state-table.ts. */
  states: Database<BotState | null, StateKey>;
}

/** LMDB's flags of a commit that does not wait for the disk (MDB_NOSYNC), and of one that does. */
const UNSYNCED = 0x10002;
const SYNCED = 3;
/** Pause between two flushes in the background, in ms. */
const SYNC_MS = 1000;

/**
 * Bytes for the pages that a commit changes, beside those that the tables grow by: a share of what they have, because a removal can
 * change as many pages as there are postings in one step (retention.ts), and these are spread over the whole table.
 */
function changedBytes(used: number): number {
  return Math.min(Math.max(used / 16, MIN_CHANGED_BYTES), MAX_CHANGED_BYTES);
}
const MIN_CHANGED_BYTES = 131_072;
const MAX_CHANGED_BYTES = 16 * 1_048_576;

/** Opens or creates the journal. @throws Error when the directory or the disk does not allow it. */
export function openTables(path: string, fsync: Config['journal']['fsync']): Tables {
  const options = {
    maxDbs: 8,
    // `always`: each commit is on the disk before it counts. `background`: LMDB keeps the last state that was flushed whole,
    // so that a power failure costs the last moments and breaks nothing.
    ...(fsync === 'always' ? { overlappingSync: false } : {}),
    ...(fsync === 'never' ? { noSync: true } : {}),
  };
  const { root, room, close } = openFile(path, options, MIN_CHANGED_BYTES);
  const flags = fsync === 'always' ? SYNCED : UNSYNCED;
  const sync =
    fsync === 'background' ? new BackgroundSync(root as RootDatabase & Flushing) : undefined;
  const binary = { encoding: 'binary' } as const;
  // LZ4: frames are similar. To write them uncompressed took three times as much CPU time. The table is opened twice:
  // lmdb decompresses rows that are read, but rows that are written are already compressed.
  const tables = {
    root,
    state: root.openDB<State, string>({ name: 'state' }),
    blocks: root.openDB<Buffer, number>({ name: 'blocks', ...binary, compression: true }),
    packed: root.openDB<Buffer, number>({ name: 'blocks', ...binary }),
    heads: root.openDB<Buffer, number>({ name: 'heads', ...binary }),
    postings: root.openDB<Buffer, [...NameKey, number]>({ name: 'postings', ...binary }),
    segments: root.openDB<Buffer, number>({ name: 'segments', ...binary }),
    stats: root.openDB<BucketCounts, number>({ name: 'stats' }),
    labels: root.openDB<Record<string, string> | null, [number, ...NameKey]>({ name: 'labels' }),
    states: root.openDB<BotState | null, StateKey>({ name: 'states' }),
  };
  return {
    ...tables,
    commit(task, waits = false) {
      sync?.check();
      const taskWithRoom = (): void => {
        const before = usedBytes(tables);
        task();
        const after = usedBytes(tables);
        room.reserve(Math.max(after - before, 0) + changedBytes(after));
      };
      // lmdb supports these flags, but its types leave them out.
      (root.transactionSync as (task: () => void, flags: number) => void)(
        taskWithRoom,
        waits && fsync !== 'never' ? SYNCED : flags,
      );
      root.resetReadTxn();
      sync?.changed();
    },
    async close() {
      await sync?.stop();
      await close();
    },
  };
}

/** Methods that lmdb's types leave out. */
interface Flushing {
  sync(done: (error?: unknown) => void): void;
}

/** Flushes commits to the disk, one flush at a time, on one of lmdb's threads. */
export class BackgroundSync {
  readonly #root: Flushing;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Whether there were commits since the last flush began. */
  #changed = false;
  #stopped = false;
  /** The error of the last flush, until {@link check} throws it. */
  #fault: unknown;

  constructor(root: Flushing) {
    this.#root = root;
  }

  /** Call it after each commit. */
  changed(): void {
    this.#changed = true;
    this.#arm();
  }

  /** Call it before a commit. @throws the error of the last flush, once. */
  check(): void {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault) throw fault;
  }

  #arm(): void {
    if (this.#timer || this.#stopped || !this.#changed) return;
    this.#timer = setTimeout(() => {
      this.#changed = false;
      this.#running = new Promise<unknown>((resolve) => {
        this.#root.sync((error) => resolve(error));
      }).then((error) => {
        this.#timer = undefined;
        this.#running = undefined;
        if (error) {
          this.#fault = error;
          this.#changed = true;
        }
        this.#arm();
      });
    }, SYNC_MS);
  }

  /** Waits for a running flush: an environment must not be closed during one. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}

/** LMDB's statistics of one table. */
interface Pages {
  pageSize: number;
  treeBranchPageCount: number;
  treeLeafPageCount: number;
  overflowPages: number;
}

/** Bytes of all tables in the file. In a transaction it counts what is not committed yet. */
export function usedBytes({
  state,
  blocks,
  heads,
  postings,
  segments,
  stats,
  labels,
  states,
}: Omit<Tables, 'commit' | 'close'>): number {
  let used = 0;
  for (const table of [state, blocks, heads, postings, segments, stats, labels, states]) {
    // lmdb's public getStats() also walks the list of free pages, each time.
    const { db } = table as unknown as { db: { stat(): Pages } };
    const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = db.stat();
    used += pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
  }
  return used;
}
