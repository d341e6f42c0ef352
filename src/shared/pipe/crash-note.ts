// What a bot host process leaves for the relay when it crashes: the run whose code ran last, and its last commands. The watch
// thread ends with the process, so the main thread writes them itself, to a file in memory that both have open: a write of some
// bytes costs it 1 to 2 µs, and a pipe would wake the relay each time.
//
//   | number of the run, i32 | unused, 4 bytes | image of its CommandLog |

import fs from 'node:fs';
import { applyImage } from '../memory/cell-image.js';

// Before a kind can replace it.
const { writeSync } = fs;

const COMMANDS = 8;

/** By the host. */
export class CrashNote {
  readonly #fd: number;
  readonly #run = new Int32Array(1);
  readonly #commands: Buffer;

  /** @param commandLog the cells of its CommandLog. */
  constructor(fd: number, commandLog: SharedArrayBuffer) {
    this.#fd = fd;
    this.#commands = Buffer.from(commandLog);
    this.noteCommands();
  }

  /** Of another run's code than last. Of code of no run, nothing: a fault in native code often comes after the call that caused it. */
  noteRun(run: number): void {
    if (run === 0 || run === this.#run[0]) return;
    this.#run[0] = run;
    writeSync(this.#fd, this.#run, 0, 4, 0);
  }

  noteCommands(): void {
    writeSync(this.#fd, this.#commands, 0, this.#commands.length, COMMANDS);
  }
}

/** By the relay: stores the commands in its own log. @returns the run, 0 when no bot's code has run. */
export function readCrashNote(fd: number, commandLog: SharedArrayBuffer): number {
  const bytes = Buffer.alloc(COMMANDS + commandLog.byteLength);
  // It has less when the process ended before it was written.
  const length = fs.readSync(fd, bytes, 0, bytes.length, 0);
  if (length === bytes.length) applyImage(bytes.subarray(COMMANDS), commandLog);
  return new Int32Array(bytes.buffer, bytes.byteOffset, 1)[0] ?? 0;
}
