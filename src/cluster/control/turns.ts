// Runs in main. Owns the turns of tasks with a name: one task of a name at a time.

interface Turn {
  isAskedAgain: boolean;
  done: Promise<void>;
}

/** Asked for while it runs, a task runs once more after that, however often it was asked for. */
export class Turns {
  readonly #task: (name: string) => Promise<void>;
  readonly #failed: (name: string, thrown: unknown) => void;
  /** By name. Bounded by the names that there are. */
  readonly #turns = new Map<string, Turn>();

  /** @param failed is called with what a task has thrown. */
  constructor(
    task: (name: string) => Promise<void>,
    failed: (name: string, thrown: unknown) => void,
  ) {
    this.#task = task;
    this.#failed = failed;
  }

  /** Resolves when the task has run for what was known until now. Never rejects. */
  ask(name: string): Promise<void> {
    const present = this.#turns.get(name);
    if (present) {
      present.isAskedAgain = true;
      return present.done;
    }
    const turn: Turn = { isAskedAgain: true, done: Promise.resolve() };
    this.#turns.set(name, turn);
    turn.done = this.#run(name, turn);
    return turn.done;
  }

  async #run(name: string, turn: Turn): Promise<void> {
    while (turn.isAskedAgain) {
      turn.isAskedAgain = false;
      await this.#task(name).catch((thrown) => this.#failed(name, thrown));
    }
    this.#turns.delete(name);
  }
}
