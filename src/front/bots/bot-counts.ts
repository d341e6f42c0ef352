import { type BotSnapshot, SERVICE_STATUSES } from '../../shared/contract/events.js';

type Counted = Pick<BotSnapshot, 'kind' | 'status'>;

/** Statuses per kind that are counted separately besides the service's: a bot can use any number. */
const MAX_OWN_STATUSES = 20;
const SERVICE: ReadonlySet<string> = new Set(SERVICE_STATUSES);
/** The entry that counts all other statuses. */
export const OTHER_STATUS = 'other';

/** Runs in a front thread. Counts bots by kind and status as snapshots arrive, so that a scrape need not visit every bot. */
export class BotCounts {
  /** Counts by kind, then by status. No entry is 0. */
  readonly #kinds = new Map<string, Map<string, number>>();

  clear(): void {
    this.#kinds.clear();
  }

  /** One bot changed; undefined if it did not exist before, or does not exist after. */
  change(before: Counted | undefined, after: Counted | undefined): void {
    if (before?.status === after?.status && before?.kind === after?.kind) return;
    if (before) this.#add(before, -1);
    if (after) this.#add(after, 1);
  }

  /** The service's own statuses and {@link MAX_OWN_STATUSES} others of each kind; the rest is one entry. */
  list(): { kind: string; status: string; count: number }[] {
    return [...this.#kinds].flatMap(([kind, statuses]) => {
      const own = [...statuses].filter(([status]) => !SERVICE.has(status));
      // A kind may have as many statuses as bots, so the rest is summed up.
      const rest = new Map(own.slice(MAX_OWN_STATUSES));
      const listed = [...statuses]
        .filter(([status]) => !rest.has(status))
        .map(([status, count]) => ({ kind, status, count }));
      const count = [...rest.values()].reduce((sum, one) => sum + one, 0);
      return rest.size === 0 ? listed : [...listed, { kind, status: OTHER_STATUS, count }];
    });
  }

  #add({ kind, status }: Counted, change: number): void {
    let statuses = this.#kinds.get(kind);
    if (!statuses) {
      statuses = new Map();
      this.#kinds.set(kind, statuses);
    }
    const count = (statuses.get(status) ?? 0) + change;
    if (count > 0) statuses.set(status, count);
    else statuses.delete(status);
    if (statuses.size === 0) this.#kinds.delete(kind);
  }
}
