import { Deferred } from '../../shared/deferred.js';

interface HostedRun {
  bot: string;
  over: Deferred;
}

/** The runs whose code may still be running in one bot host, abandoned ones included until they settle. */
export class HostedRuns {
  readonly #byNumber = new Map<number, HostedRun>();
  /** The same runs: when hundreds of bots return at once each looks for its own. */
  readonly #byBot = new Map<string, Set<HostedRun>>();

  add(number: number, bot: string): void {
    const run: HostedRun = { bot, over: new Deferred() };
    this.#byNumber.set(number, run);
    const runs = this.#byBot.get(bot) ?? new Set();
    this.#byBot.set(bot, runs.add(run));
  }

  settle(number: number): void {
    const run = this.#byNumber.get(number);
    if (!run) return;
    run.over.resolve();
    this.#byNumber.delete(number);
    const runs = this.#byBot.get(run.bot);
    runs?.delete(run);
    if (runs?.size === 0) this.#byBot.delete(run.bot);
  }

  /** The thread has exited. The runs stay known for an incident report. */
  settleAll(): void {
    for (const { over } of this.#byNumber.values()) over.resolve();
  }

  /** The bot of a run, null when the run is not known. */
  botOf(number: number): string | null {
    return this.#byNumber.get(number)?.bot ?? null;
  }

  /** The only bot that has runs; null when there are several, or none. */
  get onlyBot(): string | null {
    const [only, another] = this.#byBot.keys();
    return another === undefined ? (only ?? null) : null;
  }

  /** Some bot that has a run, null when none has. */
  get someBot(): string | null {
    return this.#byBot.keys().next().value ?? null;
  }

  /** Resolves when no run of the bot continues; undefined when none does. */
  whenFreeOf(bot: string): Promise<unknown> | undefined {
    const runs = this.#byBot.get(bot);
    return runs && Promise.all(Array.from(runs, ({ over }) => over.promise));
  }
}
