// Runs in main. Owns some open files in reserve, and says when the others run out. Bots and the service share one limit, and the
// system gives a connection that can be neither accepted nor refused no answer at all.

import { closeSync, openSync } from 'node:fs';
import type { PressureReport } from '../../shared/contract/pressure.js';
import { countOpenFiles, listOpenFiles } from '../../shared/open-files.js';

export type FilesReport = PressureReport['files'];

/** How the files of the process are counted and opened. Tests pass their own. */
export interface FilesOfProcess {
  /** The number of open files; null where only a list would tell. */
  count(): number | null;
  /** The number of open files, from a list of them; null where there is none. */
  list(): number | null;
  /** Opens one. @throws when there are no more. */
  open(): number;
  close(file: number): void;
}

export interface FileReserveEvents {
  /** A line for the operator: on the stream, and on standard error. */
  say(level: 'info' | 'warn', line: string): void;
  /** What the bots have open, by kind, as far as that is known. */
  heldByKind(): Promise<ReadonlyMap<string, number>>;
}

/** The reserve as a share of all files, and its bounds. It serves requests of operators and what those store. */
const RESERVED_SHARE = 1 / 32;
const MIN_RESERVED = 4;
const MAX_RESERVED = 64;
/** Files are short when less than this multiple of the reserve is left, and no longer when more than the second is. */
const SHORT_BELOW = 2;
const ENOUGH_ABOVE = 3;
/** With fewer free files than that, part of the reserve is given back to the system. */
const MIN_FREE = 4;
/** The part of the reserve that one look gives back. Bots that take every file get it too, so it is given in steps. */
const GIVEN_AT_ONCE = 1 / 4;
/** Where files have to be listed, only every fifth look does so. */
const LIST_EVERY = 5;

const PROCESS: FilesOfProcess = {
  count: countOpenFiles,
  list: listOpenFiles,
  open: () => openSync('/dev/null', 'r'),
  close: closeSync,
};

export class FileReserve {
  readonly #limit: number | null;
  readonly #events: FileReserveEvents;
  readonly #process: FilesOfProcess;
  readonly #size: number;
  #reserved: number[] = [];
  #used: number | null = null;
  #most: FilesReport['most'] = null;
  #isShort = false;
  #looks = 0;

  /** @param limit how many files may be open; null when that is unknown: no file is reserved then, and files are never short. */
  constructor(limit: number | null, events: FileReserveEvents, process = PROCESS) {
    this.#limit = limit;
    this.#events = events;
    this.#process = process;
    const wanted = Math.floor((limit ?? 0) * RESERVED_SHARE);
    this.#size = limit === null ? 0 : Math.min(MAX_RESERVED, Math.max(MIN_RESERVED, wanted));
  }

  get isShort(): boolean {
    return this.#isShort;
  }

  get report(): FilesReport {
    return { used: this.#used, limit: this.#limit, most: this.#most };
  }

  /** Counts the files, and does what follows from it. To be called once a second. */
  look(): void {
    if (this.#limit === null) return;
    const count = this.#count();
    this.#used = count === null ? null : Math.min(count, this.#limit);
    if (this.#used === null) return;
    const free = this.#limit - this.#used;
    const left = free + this.#reserved.length;
    if (!this.#isShort && left < SHORT_BELOW * this.#size) this.#becameShort();
    else if (this.#isShort && left > ENOUGH_ABOVE * this.#size) this.#isOver();
    if (!this.#isShort) this.#take();
    else if (free < MIN_FREE) this.#give(Math.ceil(this.#size * GIVEN_AT_ONCE));
  }

  /** Gives back what is in reserve. */
  close(): void {
    this.#give(this.#reserved.length);
  }

  #count(): number | null {
    const count = this.#process.count();
    if (count !== null) return count;
    this.#looks += 1;
    const isDue = this.#used === null || this.#isShort || this.#looks % LIST_EVERY === 0;
    return isDue ? this.#process.list() : this.#used;
  }

  #becameShort(): void {
    this.#isShort = true;
    const files = `${this.#used} of ${this.#limit} files are open`;
    void this.#events.heldByKind().then((held) => {
      this.#most = largestOf(held);
      const who =
        this.#most === null
          ? 'which bots have them open is not known'
          : `bots of the kind ${this.#most.kind} have ${this.#most.open} connections open, the most`;
      this.#events.say(
        'warn',
        `${files}; ${who}. New streams and starts of bots are refused; docs/OPERATIONS.md says what to do`,
      );
    });
  }

  #isOver(): void {
    this.#isShort = false;
    this.#most = null;
    this.#events.say('info', `files are free again: ${this.#used} of ${this.#limit} are open`);
  }

  #take(): void {
    try {
      while (this.#reserved.length < this.#size) this.#reserved.push(this.#process.open());
    } catch {
      // Another thread has taken the last file. The next look counts again.
    }
  }

  #give(count: number): void {
    for (const file of this.#reserved.splice(0, count)) this.#process.close(file);
  }
}

function largestOf(held: ReadonlyMap<string, number>): FilesReport['most'] {
  let most: FilesReport['most'] = null;
  for (const [kind, open] of held) if (open > (most?.open ?? 0)) most = { kind, open };
  return most;
}
