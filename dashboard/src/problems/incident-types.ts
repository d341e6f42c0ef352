import type { Incident } from '../../../src/client/index.js';
import { type PlainKey, t } from '../texts/text.js';

/** Recordings have errors that are only lines. */
const TYPES: Record<Incident['type'] | 'error line', PlainKey> = {
  'error line': 'runs.line',
  crash: 'incident.crash',
  hang: 'incident.hang',
  out_of_memory: 'incident.outOfMemory',
  host_lost: 'incident.hostLost',
  overdue: 'incident.overdue',
  failed: 'incident.failed',
  kind_quarantined: 'incident.kindQuarantined',
  unclean_end: 'incident.uncleanEnd',
  node_lost: 'incident.nodeLost',
  flood: 'incident.flood',
  over_quota: 'incident.overQuota',
};

/** The type of an incident in words. A newer node of a cluster may have others. */
export function typeText(type: Incident['type']): string {
  return Object.hasOwn(TYPES, type) ? t(TYPES[type]) : type;
}
