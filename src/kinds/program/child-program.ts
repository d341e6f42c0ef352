// Runs in a bot host. Owns one program: its process group, its standard streams, and its end.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { BotError } from '../../bot-sdk/bot-error.js';
import { messageOf } from '../../shared/errors.js';
import { signalGroup } from '../../shared/process-group.js';
import { withTimeout } from '../../shared/with-timeout.js';
import { release, spawnKept } from './keeper.js';
import { LineReader, type TakeLine } from './line-reader.js';

/** Bytes that may wait for a program that does not read; what is written after that fails at once. */
const MAX_WAITING_BYTES = 1_048_576;
/** Reads of this size mean that there is more: then the other bots of the host run first. */
const FULL_READ_BYTES = 65_536;
/** How long the output may stay open after the end of the program, in ms: processes outside of its group may hold it. */
const DRAIN_MS = 500;
/** How long a program may live after the end of its output, where that ends what is spoken with it, in ms. */
const MUTE_MS = 1000;
/** The end of standard error that is shown as the reason: lines, and units of each. */
const LAST_LINES = 5;
const LAST_LINE_UNITS = 300;
/** More is held of each: secrets are masked before it is cut to what is shown. */
const HELD_UNITS = 8192;
const UNFINISHED_UNITS = 100;
/** SIGKILL comes this much before the end of the grace time, in ms, or a fifth of that: the run must have ended by then. */
const KILL_BEFORE_MS = 500;

export interface ProgramCommand {
  command: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
}

export interface ProgramOutput {
  stdout: TakeLine;
  stderr: TakeLine;
  /** The program has closed its standard output, or has ended. */
  stdoutEnded(): void;
  /** Whether the end of its output ends a line. */
  readonly endsLine: boolean;
  /** Shows what it has written, without secrets. @param units how much of it at most. */
  quote(text: string, units: number): string;
}

/** How a program ended. */
export interface ProgramExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export class ChildProgram {
  /** Resolves when the program has ended, its output was taken, and nothing of its group is left. */
  readonly exited: Promise<ProgramExit>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #group: number;
  readonly #stdout: LineReader;
  readonly #quote: ProgramOutput['quote'];
  readonly #checkLease: () => void;
  readonly #lastErrors: string[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #fault: BotError | undefined;
  #isOver = false;
  #isInputClosed = false;
  /** It had to be killed because it did not end in time. */
  wasKilled = false;

  /**
   * Resolves when the program runs.
   * @param checkLease is called before anything is sent to it: throws when this node has lost its lease.
   * @throws BotError when it cannot be started.
   */
  static async start(
    what: ProgramCommand,
    output: ProgramOutput,
    checkLease: () => void = () => {},
  ): Promise<ChildProgram> {
    checkLease();
    const [file = '', ...args] = what.command;
    checkStart(file, what.cwd);
    let child: ChildProcessWithoutNullStreams;
    try {
      child = spawnKept((variable) =>
        spawn(file, args, { cwd: what.cwd, env: { ...what.env, ...variable }, detached: true }),
      );
    } catch (thrown) {
      // What no system call was made for: a NUL character in a variable, for example.
      throw new BotError(`the program ${file} cannot be started`, {
        cause: thrown,
        restart: false,
      });
    }
    if (child.pid === undefined) {
      const [error] = (await once(child, 'error')) as [NodeJS.ErrnoException];
      throw startError(file, error);
    }
    return new ChildProgram(child, child.pid, output, checkLease);
  }

  private constructor(
    child: ChildProcessWithoutNullStreams,
    group: number,
    output: ProgramOutput,
    checkLease: () => void,
  ) {
    this.#child = child;
    this.#checkLease = checkLease;
    this.#group = group;
    this.#quote = (text, units) => output.quote(text, units);
    this.#stdout = new LineReader(output.stdout);
    const errors = new LineReader((line, cut) => {
      this.#lastErrors.push(line.slice(0, HELD_UNITS));
      if (this.#lastErrors.length > LAST_LINES) this.#lastErrors.shift();
      output.stderr(line, cut);
    });
    read(child.stdout, this.#stdout);
    read(child.stderr, errors);
    child.stdout.once('end', () => output.stdoutEnded());
    // Writes to a program that has ended, or has closed its input.
    child.stdin.on('error', () => {
      this.#isInputClosed = true;
    });
    child.on('error', () => {});
    this.exited = this.#live(() => {
      if (output.endsLine) this.#stdout.finish();
      errors.finish();
    });
  }

  /** What ended it, if that was {@link fail}. */
  get fault(): BotError | undefined {
    return this.#fault;
  }

  /** What its output ended with, without a line end; empty if nothing. */
  get unfinished(): string {
    const { unfinished } = this.#stdout;
    if (unfinished === 0) return '';
    return JSON.stringify(this.#quote(this.#stdout.beginning(HELD_UNITS), UNFINISHED_UNITS));
  }

  /** Its last lines on standard error, for a reason; empty if there are none. */
  get lastErrors(): string {
    const shown = this.#lastErrors.filter((line) => line.trim() !== '');
    if (shown.length === 0) return '';
    const quoted = shown.map((line) => this.#quote(line, LAST_LINE_UNITS));
    return `; its standard error ends with: ${quoted.join(' | ')}`;
  }

  /** Writes to its standard input, without waiting. @throws BotError when it does not read, or has closed it. */
  write(text: string): void {
    const { stdin } = this.#child;
    if (this.#isOver) throw new BotError('the program has ended');
    if (this.#isInputClosed || !stdin.writable) {
      throw new BotError('the standard input of the program is closed');
    }
    if (stdin.writableLength > MAX_WAITING_BYTES) {
      throw new BotError(
        `the program does not read its standard input: ${stdin.writableLength} bytes wait`,
      );
    }
    try {
      this.#checkLease();
    } catch (thrown) {
      // Another node may have started the bot, and this program may act without being told to.
      this.fail(messageOf(thrown));
      throw thrown;
    }
    stdin.write(text);
  }

  closeInput(): void {
    this.#isInputClosed = true;
    this.#child.stdin.end();
  }

  signal(name: NodeJS.Signals): void {
    if (this.#isOver) throw new BotError('the program has ended');
    signalGroup(this.#group, name);
  }

  /** Ends the program with a reason, which the first caller gives. */
  fail(reason: string): void {
    if (this.#isOver) return;
    this.#fault ??= new BotError(`${reason}${this.lastErrors}`);
    signalGroup(this.#group, 'SIGKILL');
  }

  /** Fails the program unless it ends soon: nothing can be spoken with it any more. */
  failIfMute(reason: string): void {
    this.#after(MUTE_MS, () => this.fail(reason));
  }

  /** Calls `task` unless the program ends before. */
  after(ms: number, task: () => void): () => void {
    const timer = this.#after(ms, task);
    return () => clearTimeout(timer);
  }

  /** Ends it within its grace time. @param termMs when its group gets SIGTERM. */
  stop(graceMs: number, termMs: number): void {
    if (this.#isOver) return;
    if (termMs === 0) signalGroup(this.#group, 'SIGTERM');
    else this.#after(termMs, () => signalGroup(this.#group, 'SIGTERM'));
    this.#after(Math.max(graceMs * 0.8, graceMs - KILL_BEFORE_MS), () => {
      this.wasKilled = true;
      signalGroup(this.#group, 'SIGKILL');
    });
  }

  #after(ms: number, task: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      task();
    }, ms);
    if (this.#isOver) clearTimeout(timer);
    else this.#timers.add(timer);
    return timer;
  }

  async #live(drained: () => void): Promise<ProgramExit> {
    const child = this.#child;
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const exit = await new Promise<ProgramExit>((resolve) =>
      child.once('exit', (code, signal) => resolve({ code, signal })),
    );
    this.#isOver = true;
    for (const timer of this.#timers) clearTimeout(timer);
    // At once: processes that it has left have its group, and the number is free when they are gone.
    signalGroup(this.#group, 'SIGKILL');
    release(this.#group);
    await withTimeout(closed, DRAIN_MS, () => {});
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    drained();
    return exit;
  }
}

function read(stream: ChildProcessWithoutNullStreams['stdout'], lines: LineReader): void {
  stream.on('data', (chunk: Buffer) => {
    lines.push(chunk);
    if (chunk.length < FULL_READ_BYTES) return;
    stream.pause();
    setImmediate(() => stream.resume());
  });
  stream.on('error', () => {});
}

/** @throws BotError for what the system would report as something else. */
function checkStart(file: string, cwd: string): void {
  if (process.platform === 'win32') {
    throw new BotError('programs need process groups, which Windows does not have', {
      restart: false,
    });
  }
  if (file === '') throw new BotError('the command of the program is empty', { restart: false });
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new BotError(`the working directory ${cwd} of the program does not exist`, {
    restart: false,
  });
}

function startError(file: string, error: NodeJS.ErrnoException): BotError {
  const name = JSON.stringify(file);
  const { code } = error;
  if (code === 'ENOENT') {
    const where = file.includes('/') ? '' : ' in PATH';
    return new BotError(
      `there is no program ${name}${where}, or the interpreter in its first line does not exist`,
      { restart: false },
    );
  }
  if (code === 'EACCES') {
    return new BotError(`the program ${name} is not executable: chmod +x`, { restart: false });
  }
  if (code === 'ENOEXEC') {
    return new BotError(
      `the program ${name} has no format that this system runs: a script needs #! in its first line`,
      { restart: false },
    );
  }
  // Too many processes or open files: another attempt may succeed.
  return new BotError(`the program ${name} cannot be started: ${error.message}`);
}
