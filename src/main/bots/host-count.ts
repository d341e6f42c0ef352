/** Cores left to the fronts, the broadcaster and main when the number of hosts is not configured. */
const CORES_KEPT = 2;
/** Hosts for many bots, however few cores the machine has: a host that hangs or ends takes only its own bots with it. */
const MANY_HOSTS = 8;
/** Another host is started when each has this many bots, up to `most`. A host costs 14 MB, which is 29 KB for each of these bots. */
export const FULL_BOTS = 500;

/** Numbers of shared hosts. */
export interface HostCount {
  /** At the start. */
  count: number;
  /** At most, for many bots. */
  most: number;
}

/** @param configured `hosts.count`. @param cores of the machine. */
export function hostCount(configured: number | null, cores: number): HostCount {
  const count = configured ?? Math.max(1, cores - CORES_KEPT);
  return { count, most: configured ?? Math.max(count, MANY_HOSTS) };
}
