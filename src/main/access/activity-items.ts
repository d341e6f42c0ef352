import { randomBytes } from 'node:crypto';
import type { ActivityItem } from '../../shared/contract/events.js';
import type { ActivityReport } from '../../shared/contract/threads.js';

/** The activities of some requests: one for each bot, or one that is about no bot. */
export function activityItems(reports: readonly ActivityReport[]): ActivityItem[] {
  return reports.flatMap(({ bots, isForMany, detail, ...report }) => {
    const operation = isForMany ? randomBytes(6).toString('hex') : null;
    const about: readonly (readonly [string | null, string | null])[] =
      bots.length > 0 ? bots : [[null, report.error]];
    return about.map(([session_id, error]): ActivityItem => {
      const outcome = report.outcome === 'done' && error !== null ? 'failed' : report.outcome;
      return {
        kind: 'activity',
        event: { ...report, session_id, operation, outcome, error, detail },
      };
    });
  });
}
