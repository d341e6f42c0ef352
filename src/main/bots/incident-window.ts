import type { Incident } from '../../shared/contract/bots.js';

/** Length of the window, in ms. */
const WINDOW_MS = 60_000;
/** Reports of the same fault of the same bot or host in a window. Repetitions above it are counted on the last one. */
const MAX_ALIKE = 5;
/** Reports in a window. An incident above it that has no report of the same fault is counted with others like it. */
const MAX_ALL = 200;
/** Part of them that is reserved for the loss of a whole host, so that crashing bots cannot use it up. */
const RESERVED = 50;
const RESERVED_FOR: ReadonlySet<Incident['type']> = new Set([
  'hang',
  'out_of_memory',
  'host_lost',
  'kind_quarantined',
]);

interface Taken {
  id: string;
  at: number;
}

/** Limits the number of incident reports: a sliding window for each fault of a bot or host, and one for all. */
export class IncidentWindow {
  /**
   * The reports in the window by fault, oldest first, MAX_ALIKE each. Bounded by MAX_ALL: only faults with a report in
   * the window are here.
   */
  readonly #taken = new Map<string, Taken[]>();

  /**
   * @param whose the bot or host. @param id of its report, if it gets one. @param now in ms.
   * @returns that id, or the id of the report that it is counted on, or null if there is none.
   */
  take(type: Incident['type'], whose: string, id: string, now: number): string | null {
    const since = now - WINDOW_MS;
    let all = 0;
    for (const [other, taken] of this.#taken) {
      while (taken[0] !== undefined && taken[0].at <= since) taken.shift();
      if (taken.length === 0) this.#taken.delete(other);
      all += taken.length;
    }
    const fault = `${type} ${whose}`;
    const alike = this.#taken.get(fault) ?? [];
    const room = RESERVED_FOR.has(type) ? MAX_ALL : MAX_ALL - RESERVED;
    if (all >= room || alike.length >= MAX_ALIKE) return alike.at(-1)?.id ?? null;
    this.#taken.set(fault, [...alike, { id, at: now }]);
    return id;
  }

  /** The report with this id was not stored, so the next one may be. */
  giveBack(type: Incident['type'], whose: string, id: string): void {
    const fault = `${type} ${whose}`;
    const left = this.#taken.get(fault)?.filter((taken) => taken.id !== id) ?? [];
    if (left.length > 0) this.#taken.set(fault, left);
    else this.#taken.delete(fault);
  }
}
