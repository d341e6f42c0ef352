import { call } from '../harness/api.js';
import type { Service } from '../harness/service.js';
import { DASHBOARD_KINDS } from './dashboard-page.js';

const TEAMS = ['atlas', 'borealis', 'cygnus', 'draco', 'eridanus', 'fornax'];
const REGIONS = ['eu', 'us', 'ap'];
/** One bot of so many is of the kind that can fall. */
const PAINTER_EVERY = 9;
const MAX_PAINTERS = 150;

interface HerdBot {
  id: string;
  kind: string;
  [field: string]: unknown;
}

/** Bots for a herd: some stopped, and painters among them, which {@link fell} can make fail or wait. */
export function herdBots(count: number, eventsPerSecond: number): HerdBot[] {
  return Array.from({ length: count }, (_, n) => {
    const labels = {
      team: TEAMS[Math.floor(n ** 1.3) % TEAMS.length],
      region: REGIONS[(n * 7) % REGIONS.length],
    };
    if (n % PAINTER_EVERY === 3 && n / PAINTER_EVERY < MAX_PAINTERS) {
      return {
        id: `painter-${n}`,
        kind: 'painter',
        labels,
        config: { greeting: 'good morning' },
        restart: { max_restarts: n % 6 === 0 ? 5 : 0, backoff_ms: 3_600_000 },
      };
    }
    return {
      id: `load-${n}`,
      kind: 'synthetic',
      labels,
      desired: n % 17 === 5 ? 'stopped' : 'running',
      config: { events_per_second: eventsPerSecond, message_bytes: 80 },
    };
  });
}

/** Starts of a service with these bots. */
export function herdConfig(bots: readonly HerdBot[]) {
  return { kinds: [DASHBOARD_KINDS], bots, hosts: { count: 2 }, drills: { enabled: true } };
}

/** Makes every `every`th painter fail, or wait for its restart. */
export async function fell(
  service: Service,
  bots: readonly HerdBot[],
  every: number,
): Promise<void> {
  const painters = bots.filter(({ kind }) => kind === 'painter').map(({ id }) => id);
  for (const id of painters.filter((_, n) => n % every === 0)) {
    await call(service, 'POST', '/invoke', {
      body: {
        session_id: id,
        command: 'fall',
        args: { why: 'Cannot read properties of undefined (reading "brush")' },
      },
    });
  }
}
