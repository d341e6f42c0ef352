// Runs in a front thread. Owns how many bots there are of each kind with each status, kept as their snapshots come in: whoever
// asks need not look at every bot.

import { type BotSnapshot, SERVICE_STATUSES } from '../shared/contract/events.js';

type Counted = Pick<BotSnapshot, 'kind' | 'status'>;

/** Statuses of one kind that are told apart besides the service's own; a bot may name as many as it likes. */
const MAX_OWN_STATUSES = 20;
const SERVICE: ReadonlySet<string> = new Set(SERVICE_STATUSES);
/** The others together. */
export const OTHER_STATUS = 'other';

export class BotCounts {
  /** By kind, then by status. None is 0. */
  readonly #kinds = new Map<string, Map<string, number>>();

  clear(): void {
    this.#kinds.clear();
  }

  /** One bot was like `before` and is like `after`; undefined when it was not there, or is not any more. */
  change(before: Counted | undefined, after: Counted | undefined): void {
    if (before?.status === after?.status && before?.kind === after?.kind) return;
    if (before) this.#add(before, -1);
    if (after) this.#add(after, 1);
  }

  /** The service's own statuses and {@link MAX_OWN_STATUSES} others of a kind; the rest stands together as one. */
  list(): { kind: string; status: string; count: number }[] {
    return [...this.#kinds].flatMap(([kind, statuses]) => {
      const own = [...statuses].filter(([status]) => !SERVICE.has(status));
      const rest = own.slice(MAX_OWN_STATUSES).map(([status]) => status);
      const listed = [...statuses]
        .filter(([status]) => !rest.includes(status))
        .map(([status, count]) => ({ kind, status, count }));
      const count = rest.reduce((sum, status) => sum + (statuses.get(status) ?? 0), 0);
      return rest.length === 0 ? listed : [...listed, { kind, status: OTHER_STATUS, count }];
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
