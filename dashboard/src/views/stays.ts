export interface Change {
  status: string;
  /** Unix epoch ms. */
  at: number;
}

export interface Stay {
  status: string;
  /** Unix epoch ms. */
  from: number;
  /** Undefined for the current status. */
  to: number | undefined;
}

/** @param changes in any order, possibly with duplicates. @returns each period once, oldest first. */
export function staysOf(changes: readonly Change[]): Stay[] {
  const found = new Map(changes.map(({ status, at }) => [`${at} ${status}`, { status, at }]));
  const sorted = [...found.values()].sort((a, b) => a.at - b.at);
  return sorted.map(({ status, at }, index) => ({ status, from: at, to: sorted[index + 1]?.at }));
}
