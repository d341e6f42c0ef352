export interface Change {
  status: string;
  /** Unix epoch ms. */
  at: number;
}

export interface StatusPeriod {
  status: string;
  /** Unix epoch ms. */
  from: number;
  /** Undefined for the current status. */
  to: number | undefined;
}

/**
 * @param sources lists of changes, each oldest first, which may overlap. Several changes can have the same time: their order is
 * that of their list.
 * @returns each period once, oldest first.
 */
export function statusPeriods(...sources: readonly (readonly Change[])[]): StatusPeriod[] {
  const found = new Map<string, Change>();
  for (const changes of sources) {
    const counts = new Map<string, number>();
    for (const { status, at } of changes) {
      const change = `${at} ${status}`;
      const count = (counts.get(change) ?? 0) + 1;
      counts.set(change, count);
      // A status can be left and entered again within one ms.
      const key = `${change} ${count}`;
      if (!found.has(key)) found.set(key, { status, at });
    }
  }
  // The sort is stable.
  const sorted = [...found.values()].sort((a, b) => a.at - b.at);
  return sorted.map(({ status, at }, index) => ({ status, from: at, to: sorted[index + 1]?.at }));
}
