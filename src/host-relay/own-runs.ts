// Runs in the relay thread. Owns the list of runs that main has started in one bot host process: the process may speak of no others.

import type { BotStart } from '../shared/contract/threads.js';
import { HostFault, quoted } from '../shared/pipe/host-fault.js';

interface OwnRun {
  id: string;
  kind: string;
  /** It has ended by itself, or was stopped: its last lines have come. */
  isOver: boolean;
  /** Its code has returned. */
  isSettled: boolean;
  lateErrors: number;
}

/** Runs that are over and settled are known this long: their code may have left something behind. The oldest are forgotten. */
const MAX_PAST = 1000;
/** Errors after the end of one run that are passed on: its host reports 10 of them, and what it has left open. */
const MAX_LATE_ERRORS = 16;

/** Failures of the modules of kinds that are passed on: a host reports 10 of each kind. */
const MAX_KIND_FAILURES = 100;

export class OwnRuns {
  /** By number, in the order of their starts. Bounded by the bots of the host, and MAX_PAST. */
  readonly #runs = new Map<number, OwnRun>();
  /** The run that may publish, by bot. */
  readonly #speakers = new Map<string, number>();
  /** Bots that may publish from now on, or no more, since the last batch. Bounded by the bots that come and go meanwhile. */
  #changed = new Map<string, boolean>();
  /** How many of the runs are of this bot. */
  readonly #counts = new Map<string, number>();
  #kindFailures = 0;
  /** Over and settled, the oldest first. */
  readonly #past = new Set<number>();

  /** Main starts bots there. */
  begin(bots: readonly Pick<BotStart, 'id' | 'run' | 'kind'>[]): void {
    for (const { id, run, kind } of bots) {
      const begun = { id, kind, isOver: false, isSettled: false, lateErrors: 0 };
      this.#runs.set(run, begun);
      this.#speakers.set(id, run);
      this.#changed.set(id, true);
      this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    }
  }

  /** The host could not start it. */
  failed(run: number): void {
    const own = this.#runs.get(run);
    if (own) this.#forget(run, own);
  }

  /** The run of the bot that may publish; undefined when there is none. */
  speaker(id: string): number | undefined {
    return this.#speakers.get(id);
  }

  /**
   * Whether the host may publish something about this bot. False when its last run there is over: then another host may have
   * the bot. @throws HostFault for a bot that was not there.
   */
  speaks(id: unknown): boolean {
    if (typeof id !== 'string') throw new HostFault(`the bot ${quoted(id)}`);
    if (this.#speakers.has(id)) return true;
    this.checkBot(id);
    return false;
  }

  /** For the next batch: who may publish from it on, as far as that has changed. Undefined when it has not. */
  takeChanges(): [id: string, speaks: boolean][] | undefined {
    if (this.#changed.size === 0) return undefined;
    const changes = [...this.#changed];
    this.#changed = new Map();
    return changes;
  }

  /** There is a new broadcaster, which knows nobody. */
  tellAll(): void {
    this.#changed = new Map([...this.#speakers.keys()].map((id) => [id, true]));
  }

  /** @throws HostFault for a bot that was not there. */
  checkBot(id: string): void {
    if (!this.#counts.has(id)) throw new HostFault(`the bot ${quoted(id)}, which is not there`);
  }

  /** @throws HostFault for a kind of which no bot was there. */
  checkKind(kind: string): void {
    for (const run of this.#runs.values()) if (run.kind === kind) return;
    throw new HostFault(`the kind ${quoted(kind)}, of which no bot is there`);
  }

  /** Whether main is to get a failure of the kind's module: not of a kind of which no bot was there. */
  hasKindFailure(kind: string): boolean {
    const isThere = [...this.#runs.values()].some((run) => run.kind === kind);
    if (!isThere || this.#kindFailures >= MAX_KIND_FAILURES) return false;
    this.#kindFailures += 1;
    return true;
  }

  /** A run has ended by itself. @throws HostFault when it was not there, or had ended. */
  exited(run: number, id: string): void {
    const own = this.#own(run, id);
    if (!own || own.isOver) throw new HostFault(`the end of run ${run}, which is over`);
    this.over(run);
  }

  /** It has ended, or the host has stopped it: the host has published its last lines. */
  over(run: number): void {
    const own = this.#runs.get(run);
    if (!own) return;
    own.isOver = true;
    this.#silence(run, own.id);
    this.#age(run, own);
  }

  /** @throws HostFault when it was not there, or has settled already. */
  settled(run: number): void {
    const own = this.#runs.get(run);
    if (!own || own.isSettled) throw new HostFault(`run ${run} as settled, which it is already`);
    own.isSettled = true;
    this.#age(run, own);
  }

  /** @returns whether main is to get an error of this run after its end. @throws HostFault for the run of another bot. */
  hasLateError(run: number, id: string): boolean {
    const own = this.#own(run, id);
    if (!own || own.lateErrors >= MAX_LATE_ERRORS) return false;
    own.lateErrors += 1;
    return true;
  }

  /** Whether the run is known. @throws HostFault when it is one of another bot. */
  isOf(run: number, id: string): boolean {
    return this.#own(run, id) !== undefined;
  }

  /** Undefined for a run that is forgotten, or was never there: main does not know it here either. */
  #own(run: number, id: string): OwnRun | undefined {
    const own = this.#runs.get(run);
    if (own && own.id !== id) throw new HostFault(`run ${run} as one of the bot ${quoted(id)}`);
    return own;
  }

  #age(run: number, { isOver, isSettled }: OwnRun): void {
    if (!isOver || !isSettled) return;
    this.#past.add(run);
    for (const oldest of this.#past) {
      if (this.#past.size <= MAX_PAST) return;
      const own = this.#runs.get(oldest);
      if (own) this.#forget(oldest, own);
    }
  }

  #silence(run: number, id: string): void {
    if (this.#speakers.get(id) !== run) return;
    this.#speakers.delete(id);
    this.#changed.set(id, false);
  }

  #forget(run: number, { id }: OwnRun): void {
    this.#past.delete(run);
    this.#runs.delete(run);
    this.#silence(run, id);
    const count = (this.#counts.get(id) ?? 0) - 1;
    if (count > 0) this.#counts.set(id, count);
    else this.#counts.delete(id);
  }
}
