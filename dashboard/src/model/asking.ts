/** The answer to a question; it stays while the question is asked again. */
export interface Answered<T> {
  value: T | undefined;
  /** Why there is no value, or why it is outdated. */
  error: Error | undefined;
  isLoading: boolean;
}

export const NOT_ASKED = { value: undefined, error: undefined, isLoading: true } as const;

/** Loads an answer. `show` is for a part of it that is known before the rest. */
export type Load<T> = (signal: AbortSignal, show: (part: T) => void) => Promise<T>;

/**
 * Asks one question as often as {@link again} is called, once at a time. A call while it is asked does not end that one: where
 * reasons to ask come faster than answers, there would never be an answer. It is asked once more afterwards.
 */
export class Asking<T> {
  readonly #load: Load<T>;
  readonly #changed: (now: Answered<T>) => void;
  #now: Answered<T> = { value: undefined, error: undefined, isLoading: false };
  #running: AbortController | undefined;
  #isOutdated = false;
  #isStopped = false;

  constructor(load: Load<T>, changed: (now: Answered<T>) => void) {
    this.#load = load;
    this.#changed = changed;
  }

  again(): void {
    if (this.#running) this.#isOutdated = true;
    else void this.#ask();
  }

  /** Replaces the running request, for example after a reconnect: its connection may be dead. */
  restart(): void {
    this.again();
    if (this.#isOutdated) this.#running?.abort();
  }

  /** The answer is no longer needed. */
  stop(): void {
    this.#isStopped = true;
    this.#running?.abort();
  }

  async #ask(): Promise<void> {
    do {
      this.#isOutdated = false;
      this.#running = new AbortController();
      this.#set({ ...this.#now, isLoading: true });
      const { signal } = this.#running;
      try {
        const value = await this.#load(signal, (part) => {
          if (!signal.aborted) this.#set({ value: part, error: undefined, isLoading: true });
        });
        this.#set({ value, error: undefined, isLoading: false });
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        if (!signal.aborted) this.#set({ ...this.#now, error, isLoading: false });
      }
    } while (this.#isOutdated && !this.#isStopped);
    this.#running = undefined;
  }

  #set(now: Answered<T>): void {
    this.#now = now;
    if (!this.#isStopped) this.#changed(now);
  }
}
