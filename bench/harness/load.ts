// Owns one load process. Jobs and results are lines of JSON.

import { Child } from './child.js';

/** The reply to a job. */
export type LoadReply<Result> = { result: Result } | { error: string };

/**
 * A load generator in a separate process, so that its CPU time is not the server's. It lives for the whole bench:
 * a generator that has just started is slow itself for the first second. One job at a time.
 */
export class LoadProcess<Job, Result> {
  readonly #child: Child;
  #answer: ((line: string) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;

  private constructor(child: Child) {
    this.#child = child;
    child.onFailure((error) => this.#fail?.(error));
  }

  /** @param script prints `ready`, then answers each line of JSON on standard input with one on standard output. */
  static async start<Job, Result>(
    name: string,
    script: URL,
    args: readonly string[] = [],
  ): Promise<LoadProcess<Job, Result>> {
    let load: LoadProcess<Job, Result> | undefined;
    const child = await Child.start({
      name,
      script,
      args,
      ready: /^ready$/,
      onLine: (line) => {
        if (load !== undefined) load.#onLine(line);
      },
    });
    load = new LoadProcess(child);
    return load;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Runs one job. @throws Error if the process fails, or does not reply within `withinMs`. */
  async run(job: Job, withinMs: number): Promise<Result> {
    this.#child.assertRunning();
    let timer: NodeJS.Timeout | undefined;
    const line = await new Promise<string>((resolve, reject) => {
      this.#answer = resolve;
      this.#fail = reject;
      timer = setTimeout(() => {
        reject(new Error(`${this.#child.name} gave no answer in ${withinMs / 1000} s`));
      }, withinMs);
      this.#child.send(JSON.stringify(job));
    }).finally(() => clearTimeout(timer));
    const reply = JSON.parse(line) as LoadReply<Result>;
    if ('error' in reply) throw new Error(`${this.#child.name}: ${reply.error}`);
    return reply.result;
  }

  async stop(): Promise<void> {
    await this.#child.stop();
  }

  #onLine(line: string): void {
    const answer = this.#answer;
    this.#answer = undefined;
    answer?.(line);
  }
}
