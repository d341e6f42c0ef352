// Runs in main. Owns the LMDB environment of the store and its tables. It is written by lmdb's thread: main never waits for the
// disk.

import { getSystemErrorMap } from 'node:util';
import type { Database, RootDatabase } from '../../shared/lmdb/lmdb.js';
import { type OpenFile, openFile } from '../../shared/lmdb/open-file.js';

const TABLES = [
  'tokens',
  'token_uses',
  'bots',
  'given_away',
  'incidents',
  'incident_groups',
  'rules',
  'operations',
  'kind_versions',
] as const;
export type TableName = (typeof TABLES)[number];

/** A table to read. */
export type Table<V> = Pick<Database<V, string>, 'get' | 'getRange'>;

/** Without a value the key is removed. */
export interface Change {
  table: TableName;
  key: string;
  value?: unknown;
}

/** lmdb's writing thread, which its types leave out. */
interface Writer {
  env: { startWriting(address: number, done: (status: number) => unknown): void };
}
/** Statuses that are no errors: committed, a step of a commit. */
const COMMITTED = 0;
const STEPS: readonly number[] = [1, 2];
/** Bytes that a commit appends beside the values: its list of free pages, and for each change the pages above it. */
const COMMIT_BYTES = 65_536;
const CHANGE_BYTES = 16_384;

export class StoreFile {
  readonly #root: RootDatabase;
  readonly #file: OpenFile;
  readonly #tables: Record<TableName, Database<unknown, string>>;
  /** LMDB's code of the last commit that failed. */
  #status = COMMITTED;

  /** Opens or creates it. @throws Error when the directory or the disk does not allow it. */
  constructor(path: string) {
    const options = {
      maxDbs: 12,
      // A commit is on the disk before it counts; otherwise the disk could refuse what is already visible.
      overlappingSync: false,
      // Otherwise lmdb puts each commit in a batch of which nobody has the promise, so that its rejection would end the process.
      eventTurnBatching: false,
    };
    this.#file = openFile(path, options, TABLES.length * CHANGE_BYTES);
    this.#root = this.#file.root;
    this.#catchStatus();
    const tables = TABLES.map((name) => [name, this.#root.openDB({ name })]);
    this.#tables = Object.fromEntries(tables) as Record<TableName, Database<unknown, string>>;
  }

  /** The caller knows the type of the table's values. */
  table<V>(name: TableName): Table<V> {
    return this.#tables[name] as Database<V, string>;
  }

  /** Whether it has pages whose content was deleted. */
  get hasFreePages(): boolean {
    const { free } = this.#root.getStats() as { free: { entryCount: number } };
    return free.entryCount > 0;
  }

  /** All changes are on the disk when this resolves, or none when it rejects. It must not be used after a rejection. */
  async commit(changes: readonly Change[]): Promise<void> {
    await this.#file.room.reserveSoon(mostBytes(changes));
    const committed = this.#root.batch(() => {
      for (const { table, key, value } of changes) {
        if (value === undefined) void this.#tables[table].remove(key);
        else void this.#tables[table].put(key, value);
      }
    });
    try {
      await committed;
    } catch {
      throw new Error(statusText(this.#status));
    }
  }

  /** Writes all entries to another file, without free pages. */
  copyTo(path: string): Promise<void> {
    return this.#root.backup(path, true);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /**
   * Of a commit that fails lmdb prints the error with its stack, and rejects a promise that exists for nothing else. Both are
   * avoided by reporting it as a step: the promises of its changes are rejected all the same.
   */
  #catchStatus(): void {
    const { env } = this.#root as RootDatabase & Writer;
    const startWriting = env.startWriting.bind(env);
    const value: typeof startWriting = (address, done) =>
      startWriting(address, (status) => {
        if (status === COMMITTED || STEPS.includes(status)) return done(status);
        this.#status = status;
        return done(STEPS[0] as number);
      });
    // The methods of lmdb's object are read-only.
    Object.defineProperty(env, 'startWriting', { value });
  }
}

/** An upper bound of what a commit appends. JSON is longer than what is stored. */
function mostBytes(changes: readonly Change[]): number {
  return COMMIT_BYTES + CHANGE_BYTES * changes.length + Buffer.byteLength(JSON.stringify(changes));
}

/** The message of an error code of the system, or of LMDB, whose codes are below zero. */
function statusText(status: number): string {
  const [name, text] = getSystemErrorMap().get(-status) ?? [];
  return status > 0 && name ? `${name}: ${text}` : `LMDB's error ${status}`;
}
