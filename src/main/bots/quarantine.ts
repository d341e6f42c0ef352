// Pure; used by main. Owns the search for the one bot of many that takes a host's memory. A host whose loop turns says that
// it has too much, but nothing says whose it is: the bot whose timer ran last is as likely an innocent one. So nobody is
// blamed. Bots that are on a host lost for that a second time are put apart, in halves, and each half that is lost again
// is halved again, until one is alone, and then it is known.

/** How long a bot is remembered to have been on such a host, in ms: a small leak takes long to fill one. */
const REMEMBER_MS = 24 * 60 * 60 * 1000;

/** Bots that share a host with nobody else. Compared by identity. */
export interface Group {
  readonly at: number;
}

interface Suspicion {
  at: number;
  /** Undefined after the first loss. */
  group: Group | undefined;
}

export class Quarantine {
  /** By bot. Bounded by the number of bots that were on such hosts within REMEMBER_MS. */
  readonly #suspicions = new Map<string, Suspicion>();

  /**
   * A host is lost because of its memory, and nobody knows of whose.
   * @param bots those that ran there. @param now in ms. @returns how many of them are put apart.
   */
  lost(bots: readonly string[], now: number): number {
    for (const [id, { at }] of this.#suspicions) {
      if (at <= now - REMEMBER_MS) this.#suspicions.delete(id);
    }
    const again = new Set(bots.filter((id) => this.#suspicions.has(id)));
    const halves: [Group, Group] = [{ at: now }, { at: now }];
    let apart = 0;
    for (const id of bots) {
      const group = again.has(id) ? halves[apart++ < again.size / 2 ? 0 : 1] : undefined;
      this.#suspicions.set(id, { at: now, group });
    }
    return apart;
  }

  /** With whom the bot is to be on a host, undefined where that does not matter. */
  groupOf(id: string, now: number): Group | undefined {
    const found = this.#suspicions.get(id);
    return found && found.at > now - REMEMBER_MS ? found.group : undefined;
  }

  /** It is known by now. */
  forget(id: string): void {
    this.#suspicions.delete(id);
  }
}
