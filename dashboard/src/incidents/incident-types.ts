import type { Incident } from '../../../src/client/index.js';

export const TYPES: Record<Incident['type'], string> = {
  crash: 'Crash',
  hang: 'Hang',
  out_of_memory: 'Out of memory',
  host_lost: 'Host lost',
  overdue: 'Overdue',
  failed: 'Failed',
  kind_quarantined: 'Kind quarantined',
  unclean_end: 'Unclean end',
  flood: 'Flood',
  over_quota: 'Over its quota',
};
