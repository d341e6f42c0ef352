// In main and in the command line. Which versions of the NATS server do for a cluster of Drover. Pure.

/** What Drover needs: JetStream's key-value buckets with the options that it uses. */
const NEEDED = [2, 9, 0];
/**
 * The lowest whose copies on three servers never differed in the chaos test (docs/CLUSTER.md, "What NATS loses"): those of 2.9.10
 * and 2.10.27 did, see also nats-server issues 4710 and 6188. Versions between them were not tried.
 */
const SOUND = [2, 15, 1];

export const NEEDED_NATS = NEEDED.slice(0, 2).join('.');

export function isEnough(version: string): boolean {
  return isFrom(version, NEEDED);
}

/** What a version risks, in one line for the operator; null for none that is known. @param replicas on several servers. */
export function natsRisk(version: string, replicas: number): string | null {
  if (replicas < 2 || isFrom(version, SOUND)) return null;
  const wanted = SOUND.join('.');
  return `NATS ${version} can lose what it has acknowledged when its servers are killed, cut off or full: its copies then differ, or are dropped; install ${wanted} or later (docs/CLUSTER.md, "What NATS loses")`;
}

function isFrom(version: string, least: readonly number[]): boolean {
  const parts = version.split(/[.-]/).map(Number);
  for (const [at, wanted] of least.entries()) {
    const part = parts[at] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}
