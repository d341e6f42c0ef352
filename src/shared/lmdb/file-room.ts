import { closeSync, fstatSync, openSync, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { RootDatabase } from './lmdb.js';

/** The file grows by steps of this, so that few commits have to make room. */
const STEP_BYTES = 65_536;
const ZEROS = Buffer.alloc(STEP_BYTES);
const writeAt = promisify(write);

/** A method that lmdb's types leave out. */
interface Env {
  env: { info(): { lastPageNumber: number } };
}

/**
 * Makes room on the disk for what a commit appends to an LMDB file. lmdb 3.5 breaks the memory of the process when the disk has no
 * room for a page: it writes its message into a buffer that is too short. LMDB takes what lies behind its last page for unused, so
 * the file is made longer before the commit, with zeros that allocate its blocks. A full disk is an ordinary error then.
 */
export class FileRoom {
  readonly #root: Env;
  readonly #pageSize: number;
  readonly #file: number;

  /** @throws Error when the file cannot be opened. */
  constructor(path: string, root: RootDatabase) {
    this.#root = root as unknown as Env;
    this.#pageSize = (root.getStats() as { pageSize: number }).pageSize;
    // Opens only the data file: closing a descriptor of the lock file would release the locks.
    this.#file = openSync(path, 'r+');
  }

  /** @param bytes that the next commit appends at most. @throws Error with code ENOSPC and the like. */
  reserve(bytes: number): void {
    for (let [at, end] = this.#missing(bytes); at < end; ) {
      at += writeSync(this.#file, ZEROS, 0, Math.min(STEP_BYTES, end - at), at);
    }
  }

  /** Like {@link reserve}, for a thread that must not wait for the disk. */
  async reserveSoon(bytes: number): Promise<void> {
    for (let [at, end] = this.#missing(bytes); at < end; ) {
      at += (await writeAt(this.#file, ZEROS, 0, Math.min(STEP_BYTES, end - at), at)).bytesWritten;
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Where the file ends and where it has to end. */
  #missing(bytes: number): [from: number, to: number] {
    const used = (this.#root.env.info().lastPageNumber + 1) * this.#pageSize;
    const { size } = fstatSync(this.#file);
    const end = used + bytes;
    return [size, size >= end ? size : Math.ceil(end / STEP_BYTES) * STEP_BYTES];
  }
}
