/** How long it is remembered that a bot was on such a host, in ms: a small leak takes long to fill one. */
const REMEMBER_MS = 24 * 60 * 60 * 1000;

/** Bots that share a host with no others. Compared by identity. */
export interface Group {
  readonly at: number;
}

interface Suspicion {
  at: number;
  /** Undefined after the first loss. */
  group: Group | undefined;
}

/**
 * Finds the one bot of many that breaks its host when no stack names it, as for memory: a host whose loop turns reports that it
 * uses too much, but not which bot does, and the bot whose timer ran last is as likely an innocent one. So nobody is blamed.
 * Bots that are on a host lost without a suspect a second time are quarantined in two halves on two other hosts; each half that
 * is lost again is halved again, until one bot is alone on its host and is known to be the cause.
 */
export class Quarantine {
  /** By bot. Bounded by the number of bots that were on such hosts within REMEMBER_MS. */
  readonly #suspicions = new Map<string, Suspicion>();

  /**
   * To be called when a host was lost and no bot is known to be the cause.
   * @param bots those that ran there. @param now in ms. @returns how many of them are quarantined.
   */
  lost(bots: readonly string[], now: number): number {
    for (const [id, { at }] of this.#suspicions) {
      if (at <= now - REMEMBER_MS) this.#suspicions.delete(id);
    }
    const again = new Set(bots.filter((id) => this.#suspicions.has(id)));
    const halves: [Group, Group] = [{ at: now }, { at: now }];
    let quarantined = 0;
    for (const id of bots) {
      const group = again.has(id) ? halves[quarantined++ < again.size / 2 ? 0 : 1] : undefined;
      this.#suspicions.set(id, { at: now, group });
    }
    return quarantined;
  }

  /** The bots with which this one shares a host; undefined when it is not quarantined. */
  groupOf(id: string, now: number): Group | undefined {
    const found = this.#suspicions.get(id);
    return found && found.at > now - REMEMBER_MS ? found.group : undefined;
  }

  /** To be called when the cause is known. */
  forget(id: string): void {
    this.#suspicions.delete(id);
  }
}
