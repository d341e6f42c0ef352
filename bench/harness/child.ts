// Owns every process that a bench starts: none outlives the bench, and each is ended by its pid.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A script of this build, run by the same Node binary, or a program. */
export interface ChildSpec {
  /** The name in messages. */
  name: string;
  /** A program if its name does not end in `.js`. */
  script: URL;
  args?: readonly string[];
  /** The line on standard output that marks it ready. */
  ready: RegExp;
  /** Opens an IPC channel, so that the child can end itself when the bench is killed. */
  linked?: boolean;
  /** Called with each line of standard output. */
  onLine?: (line: string) => void;
}

const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 12_000;
/** Bytes of standard error to keep (the end), for error messages. */
const STDERR_KEPT = 4_096;

const living = new Set<Child>();
const directories = new Set<string>();

process.once('exit', () => {
  for (const child of living) child.kill();
  for (const path of directories) removeDirectory(path);
});

/** Removes the directory when the bench ends, however it ends. */
export function removeAtExit(path: string): void {
  directories.add(path);
}

export function removeDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  directories.delete(path);
}

/** A child process that is ready. */
export class Child {
  readonly name: string;
  readonly pid: number;
  /** The match of the ready line. */
  ready: readonly string[] = [];
  readonly #process: ChildProcess;
  #stderr = '';
  #stopping = false;
  #ended: string | undefined;

  private constructor(name: string, started: ChildProcess, pid: number) {
    this.name = name;
    this.pid = pid;
    this.#process = started;
    started.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT);
    });
    // EPIPE of a process that is ending; its end is reported.
    started.stdin?.on('error', () => {});
    started.once('exit', (code, signal) => {
      this.#ended = signal ?? `exit code ${code}`;
      living.delete(this);
    });
  }

  /** Starts the process and waits for its ready line. @throws Error if it ends or times out. */
  static async start(spec: ChildSpec): Promise<Child> {
    const file = fileURLToPath(spec.script);
    const [program, script] = file.endsWith('.js') ? [process.execPath, [file]] : [file, []];
    const started = spawn(program, [...script, ...(spec.args ?? [])], {
      stdio: ['pipe', 'pipe', 'pipe', ...(spec.linked ? (['ipc'] as const) : [])],
      env: withoutServiceSettings(process.env),
    });
    if (started.pid === undefined) {
      const [error] = await once(started, 'error');
      throw new Error(`${spec.name} could not be started: ${String(error)}`);
    }
    const child = new Child(spec.name, started, started.pid);
    living.add(child);
    try {
      await child.#untilReady(spec);
    } catch (error) {
      await child.stop();
      throw error;
    }
    return child;
  }

  /** Writes one line to its standard input. */
  send(line: string): void {
    this.#process.stdin?.write(`${line}\n`);
  }

  /** @throws Error with its exit status and last standard error if it ended unexpectedly. */
  assertRunning(): void {
    if (this.#ended !== undefined) throw this.#failure(`ended (${this.#ended})`);
  }

  /** Calls back once if the process ends unexpectedly. */
  onFailure(listener: (error: Error) => void): void {
    this.#process.once('exit', () => {
      if (!this.#stopping) listener(this.#failure(`ended (${this.#ended})`));
    });
  }

  /** Stops it, by force if necessary. @returns how it ended: `exit code 0`, `SIGKILL`, … */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<string> {
    this.#stopping = true;
    if (this.#ended === undefined) {
      const exited = once(this.#process, 'exit');
      const timer = setTimeout(() => this.kill(), STOP_WITHIN_MS);
      this.#process.kill(signal);
      await exited;
      clearTimeout(timer);
    }
    return this.#ended ?? 'not ended';
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  #untilReady(spec: ChildSpec): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(this.#failure(`was not ready after ${READY_WITHIN_MS / 1000} s`)),
        READY_WITHIN_MS,
      );
      this.#process.once('exit', () => {
        clearTimeout(timer);
        reject(this.#failure(`ended before it was ready (${this.#ended})`));
      });
      const { stdout } = this.#process;
      if (stdout === null) return;
      createInterface({ input: stdout }).on('line', (line) => {
        spec.onLine?.(line);
        const match = spec.ready.exec(line);
        if (match === null || this.ready.length > 0) return;
        this.ready = match;
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #failure(what: string): Error {
    const said = this.#stderr.trim();
    return new Error(`${this.name} ${what}${said === '' ? '' : `: ${said}`}`);
  }
}

/** The environment without variables that configure the service: a bench measures the defaults. */
function withoutServiceSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('DROVER_')));
}
