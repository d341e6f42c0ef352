// Pure; used by main. Owns how many dossiers are made when something breaks over and over: a sliding window for each fault
// of a bot or host, and one for all.

/** Length of the window, in ms. */
const WINDOW_MS = 60_000;
/** Dossiers of the same fault of the same bot or host in a window; what comes then is counted on the last of them. */
const MAX_ALIKE = 5;
/** Dossiers in a window, of whatever; what has none of its own fault to be counted on is counted together. */
const MAX_ALL = 200;

interface Alike {
  /** Of the dossiers in the window, oldest first. Bounded by MAX_ALIKE. */
  times: number[];
  /** The last of them. */
  last: string;
}

export class IncidentWindow {
  /** Bounded by MAX_ALL: only faults with a dossier in the window are here. */
  readonly #alike = new Map<string, Alike>();

  /**
   * @param fault what happened, and to whom. @param id of the dossier that it would have. @param now in ms.
   * @returns that id, or that of the dossier that it is counted on, or null when there is no such.
   */
  take(fault: string, id: string, now: number): string | null {
    const since = now - WINDOW_MS;
    let all = 0;
    for (const [other, { times }] of this.#alike) {
      while (times[0] !== undefined && times[0] <= since) times.shift();
      if (times.length === 0) this.#alike.delete(other);
      all += times.length;
    }
    const alike = this.#alike.get(fault);
    if (all >= MAX_ALL || (alike && alike.times.length >= MAX_ALIKE)) return alike?.last ?? null;
    this.#alike.set(fault, { times: [...(alike?.times ?? []), now], last: id });
    return id;
  }
}
