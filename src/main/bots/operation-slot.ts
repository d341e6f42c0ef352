import { DroverError } from '../../shared/errors.js';

export type Operation =
  | 'create'
  | 'start'
  | 'stop'
  | 'restart'
  | 'update'
  | 'delete'
  | 'move'
  | 'roll';

/** Runs one operation of a bot at a time. */
export class OperationSlot {
  readonly #bot: string;
  #current: { name: Operation; done: Promise<void> } | undefined;

  constructor(bot: string) {
    this.#bot = bot;
  }

  get isFree(): boolean {
    return this.#current === undefined;
  }

  /** Resolves when the operation that is under way has ended, with any result. */
  async settled(): Promise<void> {
    await this.#current?.done.catch(() => {});
  }

  /**
   * Runs the task. The same operation asked for again while it is under way has the same result; an update differs
   * each time. @param after is called when the slot is free again. @throws DroverError `conflict`
   */
  run(name: Operation, task: () => Promise<void>, after: () => void): Promise<void> {
    const current = this.#current;
    if (current) {
      if (current.name === name && name !== 'update') return current.done;
      const message = `bot ${this.#bot} is busy with another operation (${current.name}), try again when it has ended`;
      return Promise.reject(new DroverError('conflict', message));
    }
    const done = (async () => {
      try {
        await task();
      } finally {
        this.#current = undefined;
        after();
      }
    })();
    this.#current = { name, done };
    return done;
  }
}
