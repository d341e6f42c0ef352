/** Cores left to the fronts, the broadcaster and main when the number of hosts is not configured. */
const CORES_KEPT = 2;
/** How many hosts there are to be for many bots, however few cores there are: what hangs or ends one restarts the bots of that one. */
const MANY_HOSTS = 8;
/** A further host is started when each has so many bots, until there are `most`. It costs 14 MB, which is 29 KB for each of these bots. */
export const FULL_BOTS = 500;

/** Shared hosts. */
export interface HostCount {
  /** So many at the start. */
  count: number;
  /** So many for many bots. */
  most: number;
}

/** @param configured `hosts.count`. @param cores of the machine. */
export function hostCount(configured: number | null, cores: number): HostCount {
  const count = configured ?? Math.max(1, cores - CORES_KEPT);
  return { count, most: configured ?? Math.max(count, MANY_HOSTS) };
}
