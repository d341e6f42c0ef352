// What a bot host process leaves for the relay when it crashes: the run whose code ran last, and its last commands. The watch
// thread ends with the process, so the main thread writes them itself, to a file in memory that both have open: a write of some
// bytes costs it 1 to 2 µs, and a pipe would wake the relay each time.
//
//   | number of the run, i32 | unused, 4 bytes | image of its CommandLog |

import fs from 'node:fs';
import { applyImage } from '../memory/cell-image.js';
import { CommandLog } from '../memory/command-log.js';

// Kept here before a kind can replace it.
const { writeSync } = fs;

const COMMANDS = 8;

/** Written by the host. */
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

  /**
   * Notes that code of another run begins. Code of no run is not noted, because a fault in native code often comes
   * after the call that caused it.
   */
  noteRun(run: number): void {
    if (run === 0 || run === this.#run[0]) return;
    this.#run[0] = run;
    writeSync(this.#fd, this.#run, 0, 4, 0);
  }

  noteCommands(): void {
    writeSync(this.#fd, this.#commands, 0, this.#commands.length, COMMANDS);
  }
}

/**
 * By the relay: stores the commands in its own log, if there are new ones. The process may have written anything: what is no log is
 * not stored.
 * @param isLast the process is gone. Before, what it is writing may be read half, and is read again.
 * @returns the run, 0 when no bot's code has run.
 */
export function readCrashNote(fd: number, commandLog: SharedArrayBuffer, isLast: boolean): number {
  const head = Buffer.alloc(COMMANDS + 8);
  // The file is shorter when the process ended before it was written.
  if (fs.readSync(fd, head, 0, head.length, 0) < head.length) return 0;
  const [count] = new BigInt64Array(head.buffer.slice(head.byteOffset + COMMANDS), 0, 1);
  if (isLast || Number(count) !== new CommandLog(commandLog).count) {
    const commands = Buffer.alloc(commandLog.byteLength);
    const length = fs.readSync(fd, commands, 0, commands.length, COMMANDS);
    if (length === commands.length && CommandLog.isSound(commands)) {
      applyImage(new Int32Array(commands.buffer, commands.byteOffset, length / 4), commandLog);
    }
  }
  return new Int32Array(head.buffer, head.byteOffset, 1)[0] ?? 0;
}
