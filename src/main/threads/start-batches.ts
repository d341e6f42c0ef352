// Runs in main. Owns the starts that one host has not been told yet: those of one turn of main's loop share a message, because
// thousands of bots may be started at once.

import type { BotStart, HostMethods } from '../../shared/contract/threads.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError } from '../../shared/errors.js';

/** Runs that a message begins at most: the host does nothing else meanwhile. */
const BATCH_RUNS = 64;

type Outcome = Awaited<ReturnType<HostMethods['start']>>;

export class StartBatches {
  readonly #send: (bots: BotStart[]) => Promise<Outcome>;
  #waiting: { bot: BotStart; started: Deferred }[] = [];

  /** @param send tells the host to begin these runs. */
  constructor(send: (bots: BotStart[]) => Promise<Outcome>) {
    this.#send = send;
  }

  /** Resolves when the run has begun. @throws DroverError as the host says, or when it is lost. */
  add(bot: BotStart): Promise<void> {
    const started = new Deferred();
    this.#waiting.push({ bot, started });
    if (this.#waiting.length >= BATCH_RUNS) this.flush();
    else if (this.#waiting.length === 1) setImmediate(() => this.flush());
    return started.promise;
  }

  /** Tells the host now: what it is asked after this is about runs that it knows. */
  flush(): void {
    const batch = this.#waiting;
    if (batch.length === 0) return;
    this.#waiting = [];
    this.#send(batch.map(({ bot }) => bot)).then(
      ({ failed }) => {
        for (const { bot, started } of batch) {
          const error = failed[bot.run];
          if (error) started.reject(DroverError.fromPlain(error));
          else started.resolve();
        }
      },
      (thrown: unknown) => {
        for (const { started } of batch) started.reject(thrown);
      },
    );
  }
}
