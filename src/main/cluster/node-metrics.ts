// In main. The cluster's part of `GET /metrics`.

import type { ClusterMetrics } from '../../shared/contract/metric-layout.js';
import type { ClusterPressure } from '../../shared/contract/nodes.js';
import type { Members } from './parts.js';

export function nodeMetrics(
  members: Members,
  pressure: ClusterPressure,
  more: Pick<ClusterMetrics, 'leftovers' | 'diverged' | 'hasKey'>,
): ClusterMetrics {
  const nodes: ClusterMetrics['nodes'] = { live: 0, cordoned: 0, draining: 0, lost: 0 };
  for (const { isLive, wanted } of members.all()) nodes[isLive ? wanted : 'lost'] += 1;
  const { state, unpublished, behind } = pressure;
  return { nodes, isLeader: members.isLeader, isOn: state === 'on', unpublished, behind, ...more };
}
