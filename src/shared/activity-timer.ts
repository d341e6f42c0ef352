// Used by main, fronts, broadcaster, journal and bot hosts. Owns one timer of its thread, which runs only while the thread does
// something: an idle thread has no wake-ups.

/** The callbacks of the timer; all but the tick are optional. */
export interface ActivityTasks {
  /** Called when the thread runs something after it was idle. */
  begin?(): void;
  /** Called at the end of a period. @param lateMs how late the timer fired. */
  tick(lateMs: number): void;
  /** Called when the thread is idle again. */
  end?(): void;
}

/** Periods without a note before a timer stops: to start it again costs more than a tick. */
const QUIET_PERIODS = 2;
/**
 * Quiet periods where another thread is notified: 1.5 s, so that a line a second does not wake that thread just when it
 * is delivered.
 */
export const LONG_QUIET_PERIODS = 15;

export interface ActivityOptions {
  /** How many notes the timer itself causes each time that it fires. */
  ownNotes?: number;
  quietPeriods?: number;
}

/**
 * Ticks every `periodMs` from the first {@link note} on, until `quietPeriods` were without one. Everything that can make the thread
 * work has to call note() first, or be so short that nobody wants to know.
 */
export class ActivityTimer {
  readonly #periodMs: number;
  readonly #tasks: ActivityTasks;
  readonly #ownNotes: number;
  readonly #quietPeriods: number;
  #timer: NodeJS.Timeout | undefined;
  #notes = 0;
  /** Periods without a note, in a row. */
  #quiet = 0;
  #dueAt = 0;
  #isStopped = false;

  constructor(
    periodMs: number,
    tasks: ActivityTasks,
    { ownNotes = 0, quietPeriods = QUIET_PERIODS }: ActivityOptions = {},
  ) {
    this.#periodMs = periodMs;
    this.#tasks = tasks;
    this.#ownNotes = ownNotes;
    this.#quietPeriods = quietPeriods;
  }

  get isRunning(): boolean {
    return this.#timer !== undefined;
  }

  /** Notes that something runs. It is cheap enough to be called at each callback. */
  note(): void {
    this.#notes += 1;
    if (this.#timer === undefined) this.start();
  }

  /** Starts the timer without a note. */
  start(): void {
    if (this.#timer === undefined && !this.#isStopped) this.#begin();
  }

  /** Stops for good. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #begin(): void {
    this.#notes = 0;
    this.#quiet = 0;
    this.#dueAt = performance.now() + this.#periodMs;
    this.#timer = setInterval(() => this.#tick(), this.#periodMs);
    this.#timer.unref();
    this.#tasks.begin?.();
  }

  #tick(): void {
    const now = performance.now();
    const lateMs = now - this.#dueAt;
    this.#dueAt = now + this.#periodMs;
    this.#quiet = this.#notes <= this.#ownNotes ? this.#quiet + 1 : 0;
    this.#notes = 0;
    this.#tasks.tick(lateMs);
    if (this.#quiet < this.#quietPeriods || this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#tasks.end?.();
  }
}
