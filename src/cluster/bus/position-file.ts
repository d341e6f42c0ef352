// Runs in the bus thread. Owns the file `cluster-places` in the data directory: where the node's own frames are in the stream of the
// cluster. It can be made again from JetStream as far as its window reaches, so nothing waits for the disk.
//
// A line for each list of runs, appended. The first line names the numbering of the node's own stream (with another one the file begins
// again) and what was removed. What a crash has cut off at the end is removed.

import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import {
  type Extent,
  extentOf,
  type RunList,
  readExtent,
  readLine,
  type StreamPosition,
  writeLine,
} from './runs.js';

export const PLACES_FILE = 'cluster-places';
const NEWLINE = 10;
/** Lines that are kept parsed. */
const MAX_PARSED = 64;
/** The file is written again when so many bytes at its beginning are of frames that the journal has removed, and half of it. */
const WASTE_BYTES = 256 * 1024;

/** Raised when the format changes: a file of another format begins again. */
const FORMAT = 1;

interface Header {
  format: number;
  /** Of the node's own stream. */
  epoch: string;
  forgotten: StreamPosition | null;
}

interface Entry extends Extent {
  offset: number;
  bytes: number;
}

export class PositionFile {
  readonly #path: string;
  readonly #epoch: string;
  readonly #parsed = new Map<Entry, RunList>();
  /** Ascending by their own numbers; `bytes` of one that was forgotten is 0. */
  #entries: Entry[] = [];
  #size = 0;
  #forgotten: StreamPosition | null = null;

  /** @param epoch of the node's own stream. A file that cannot be read begins again. */
  constructor(dir: string, epoch: string) {
    this.#path = path.join(dir, PLACES_FILE);
    this.#epoch = epoch;
    this.#open();
  }

  get entries(): readonly Extent[] {
    return this.#entries;
  }

  /** Frames of this node below this number of the cluster were removed; null when none were. */
  get forgotten(): StreamPosition | null {
    return this.#forgotten;
  }

  /** @param list is not empty, and comes after all others. @throws Error of the system. */
  append(list: RunList): void {
    const header = this.#size === 0 ? this.#header() : '';
    const line = writeLine(list);
    try {
      if (header !== '') writeFileSync(this.#path, header, { mode: 0o600 });
      appendFileSync(this.#path, line);
    } catch (thrown) {
      // A part of it may be there, when the disk is full.
      if (existsSync(this.#path)) truncateSync(this.#path, this.#size);
      throw thrown;
    }
    const offset = this.#size + header.length;
    this.#entries.push({ ...extentOf(list), offset, bytes: line.length });
    this.#size = offset + line.length;
  }

  /** @param extent one of {@link entries}. @returns null when it was forgotten since, or the file was changed by others. */
  read(extent: Extent): RunList | null {
    const entry = extent as Entry;
    if (entry.bytes === 0) return null;
    const known = this.#parsed.get(entry);
    if (known) return known;
    const line = this.#line(entry);
    const list = line === null ? null : readLine(line);
    if (!list) return null;
    if (this.#parsed.size >= MAX_PARSED) {
      this.#parsed.delete(this.#parsed.keys().next().value as Entry);
    }
    this.#parsed.set(entry, list);
    return list;
  }

  /** Forgets what is below `own`. @returns whether there was any. @throws Error of the system. */
  prune(own: number): boolean {
    const kept = this.#entries.findIndex(({ ownEnd }) => ownEnd > own);
    const gone = kept === -1 ? this.#entries.length : kept;
    if (gone === 0) return false;
    for (const entry of this.#entries.splice(0, gone)) {
      this.#parsed.delete(entry);
      entry.bytes = 0;
      this.#forgotten = { epoch: entry.epoch, number: entry.numberEnd };
    }
    const start = this.#entries[0]?.offset ?? this.#size;
    if (start >= WASTE_BYTES && start >= this.#size / 2) this.#rewrite(start);
    return true;
  }

  #open(): void {
    const content = contentOf(this.#path);
    const headerEnd = content.indexOf(NEWLINE) + 1;
    const header = parseHeader(content.toString('utf8', 0, headerEnd));
    // The first list that is appended begins it again.
    if (header?.format !== FORMAT || header.epoch !== this.#epoch) return;
    this.#forgotten = header.forgotten;
    let offset = headerEnd;
    for (let end = content.indexOf(NEWLINE, offset); end !== -1; ) {
      const extent = readExtent(content.toString('latin1', offset, end));
      const before = this.#entries.at(-1)?.ownEnd ?? 0;
      if (!extent || extent.own < before) break;
      const next = end + 1;
      this.#entries.push({ ...extent, offset, bytes: next - offset });
      offset = next;
      end = content.indexOf(NEWLINE, offset);
    }
    this.#size = offset;
    if (offset === content.length) return;
    try {
      truncateSync(this.#path, offset);
    } catch {
      // What is appended would not be where it is expected: the file begins again.
      this.#entries = [];
      this.#size = 0;
    }
  }

  #line({ offset, bytes }: Entry): string | null {
    let file: number | undefined;
    try {
      file = openSync(this.#path, 'r');
      const line = Buffer.alloc(bytes);
      return line.toString('latin1', 0, readSync(file, line, 0, bytes, offset) - 1);
    } catch {
      return null;
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  #header(): string {
    const header: Header = { format: FORMAT, epoch: this.#epoch, forgotten: this.#forgotten };
    return `${JSON.stringify(header)}\n`;
  }

  /** Leaves out what is before `start`. */
  #rewrite(start: number): void {
    const content = readFileSync(this.#path).subarray(start, this.#size);
    const header = Buffer.from(this.#header());
    const next = `${this.#path}.new`;
    try {
      writeFileSync(next, Buffer.concat([header, content]), { mode: 0o600 });
      renameSync(next, this.#path);
    } catch (thrown) {
      // A part of it would take the room that is missing.
      rmSync(next, { force: true });
      throw thrown;
    }
    const moved = start - header.length;
    for (const entry of this.#entries) entry.offset -= moved;
    this.#size -= moved;
  }
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}

function parseHeader(text: string): Header | null {
  try {
    return JSON.parse(text) as Header;
  } catch {
    return null;
  }
}
