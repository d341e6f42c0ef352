// Runs in the bench process. Owns every process that a bench starts: none outlives the bench, each is ended by its id.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** How a process is started: a script of this build, run by the same node. */
export interface ChildSpec {
  /** Its name in messages. */
  name: string;
  script: URL;
  args?: readonly string[];
  /** The line on standard output that says it is ready. */
  ready: RegExp;
  /** Gives it a channel to the bench, so that it can end by itself when the bench was killed. */
  linked?: boolean;
  /** Gets each line of standard output, from the first on. */
  onLine?: (line: string) => void;
}

const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 12_000;
/** What is kept of a child's standard error, for the message when it fails: the end. */
const STDERR_KEPT = 4_096;

const living = new Set<Child>();
const directories = new Set<string>();

process.once('exit', () => {
  for (const child of living) child.kill();
  for (const path of directories) removeDirectory(path);
});

/** Has the directory removed when the bench ends, however it ends. */
export function removeAtExit(path: string): void {
  directories.add(path);
}

export function removeDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  directories.delete(path);
}

/** A process that said it is ready. */
export class Child {
  readonly name: string;
  readonly pid: number;
  /** The ready line as its pattern took it apart. */
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
    // A line sent to a process that is just ending: that it ended is reported, the broken pipe need not be.
    started.stdin?.on('error', () => {});
    started.once('exit', (code, signal) => {
      this.#ended = signal ?? `exit code ${code}`;
      living.delete(this);
    });
  }

  /** Starts the process and waits for its ready line. @throws Error when it ends or stays silent instead. */
  static async start(spec: ChildSpec): Promise<Child> {
    const started = spawn(process.execPath, [fileURLToPath(spec.script), ...(spec.args ?? [])], {
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

  /** Sends one line to its standard input. */
  send(line: string): void {
    this.#process.stdin?.write(`${line}\n`);
  }

  /** @throws Error that says how it ended, with the end of its standard error, when it has ended unasked. */
  assertRunning(): void {
    if (this.#ended !== undefined) throw this.#failure(`ended (${this.#ended})`);
  }

  /** Calls back once when the process ends unasked. */
  onFailure(listener: (error: Error) => void): void {
    this.#process.once('exit', () => {
      if (!this.#stopping) listener(this.#failure(`ended (${this.#ended})`));
    });
  }

  /** Asks it to end, and ends it when it does not. @returns how it ended: `exit code 0`, `SIGKILL`, … */
  async stop(): Promise<string> {
    this.#stopping = true;
    if (this.#ended === undefined) {
      const exited = once(this.#process, 'exit');
      const timer = setTimeout(() => this.kill(), STOP_WITHIN_MS);
      this.#process.kill('SIGTERM');
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

/** The environment without what would configure the service: a bench measures the defaults. */
function withoutServiceSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('DROVER_')));
}
