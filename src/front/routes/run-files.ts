// Runs in a front thread. Reads the directory of runs: recordings and reports that a pipeline has put there. Nothing is written.

import { constants } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_RUN_FILES, RUN_NAME, type RunFile, type RunList } from '../../shared/contract/runs.js';
import { DroverError, messageOf } from '../../shared/errors.js';

const NAME = new RegExp(RUN_NAME);
/** A link could lead out of the directory, and to open a pipe would wait for its writer. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Entries of the directory that are looked at: with more it is no directory of runs. */
const MAX_ENTRIES = 10_000;

export class RunFiles {
  readonly #dir: string;

  /** @param dir may be missing: there are no runs then. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** The latest first. Entries that cannot be read are left out. */
  async list(): Promise<RunList> {
    const names = (await this.#names()).filter((name) => NAME.test(name)).slice(0, MAX_ENTRIES);
    const found: RunFile[] = [];
    // Reads one entry after the other, so that a list does not use all of Node's threads for files.
    for (const name of names) {
      const file = await this.#use(name, async (_, size, changed_ms) => ({
        name,
        bytes: size,
        changed_ms,
      })).catch(() => undefined);
      if (file) found.push(file);
    }
    found.sort((a, b) => b.changed_ms - a.changed_ms || (a.name < b.name ? -1 : 1));
    const runs = found.slice(0, MAX_RUN_FILES);
    return { runs, more: found.length - runs.length };
  }

  /** @returns up to `most` bytes from there on, none at the end. @throws DroverError `not_found`. */
  async read(name: string, from: number, most: number): Promise<Uint8Array> {
    return this.#use(name, async (file, size) => {
      const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(most, size - from)));
      let read = 0;
      while (read < bytes.length) {
        const { bytesRead } = await file.read(bytes, read, bytes.length - read, from + read);
        // The file has become shorter.
        if (bytesRead === 0) break;
        read += bytesRead;
      }
      return bytes.subarray(0, read);
    });
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.#dir);
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'ENOENT') return [];
      throw new DroverError(
        'unavailable',
        `the directory of runs cannot be read: ${messageOf(thrown)}`,
      );
    }
  }

  async #use<T>(
    name: string,
    use: (file: FileHandle, size: number, changedMs: number) => Promise<T>,
  ): Promise<T> {
    const missing = new DroverError(
      'not_found',
      `there is no run ${JSON.stringify(name.slice(0, 130))}`,
    );
    if (!NAME.test(name)) throw missing;
    let file: FileHandle;
    try {
      file = await open(join(this.#dir, name), FLAGS);
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ELOOP') throw missing;
      throw new DroverError('unavailable', `the run ${name} cannot be read: ${messageOf(thrown)}`);
    }
    try {
      const stat = await file.stat();
      if (!stat.isFile()) throw missing;
      return await use(file, stat.size, Math.floor(stat.mtimeMs));
    } finally {
      await file.close();
    }
  }
}
