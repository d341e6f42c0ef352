// Pure; used by main. Owns how many dossiers are made when something breaks over and over: a sliding window for each fault
// of a bot or host, and one for all.

import type { Incident } from '../../shared/contract/bots.js';

/** Length of the window, in ms. */
const WINDOW_MS = 60_000;
/** Dossiers of the same fault of the same bot or host in a window; what comes then is counted on the last of them. */
const MAX_ALIKE = 5;
/** Dossiers in a window, of whatever; what has none of its own fault to be counted on is counted together. */
const MAX_ALL = 200;
/** Of these, how many are kept for what takes a whole host down: bots that crash may not use them up. */
const RESERVED = 50;
const RESERVED_FOR: ReadonlySet<Incident['type']> = new Set(['hang', 'out_of_memory', 'host_lost']);

interface Taken {
  id: string;
  at: number;
}

export class IncidentWindow {
  /**
   * The dossiers in the window by fault, oldest first, MAX_ALIKE each. Bounded by MAX_ALL: only faults with a dossier in
   * the window are here.
   */
  readonly #taken = new Map<string, Taken[]>();

  /**
   * @param type what happened. @param whose to whom. @param id of the dossier that it would have. @param now in ms.
   * @returns that id, or that of the dossier that it is counted on, or null when there is no such.
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

  /** The dossier with this id is not there: the next has its place. */
  giveBack(type: Incident['type'], whose: string, id: string): void {
    const fault = `${type} ${whose}`;
    const left = this.#taken.get(fault)?.filter((taken) => taken.id !== id) ?? [];
    if (left.length > 0) this.#taken.set(fault, left);
    else this.#taken.delete(fault);
  }
}
