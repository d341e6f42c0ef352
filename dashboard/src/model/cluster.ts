// Runs in tabs. Owns the list of nodes as the service last gave it; null for a single service.

import { computed, effect, signal } from '@preact/signals';
import type { NodeList } from '../../../src/client/index.js';
import { connection } from './live.js';
import { api, session } from './session.js';

const RELOAD_MS = 5000;

export const cluster = signal<NodeList | null>(null);
/** The names of its nodes; empty for a single service. */
export const nodeNames = computed(() => cluster.value?.nodes.map(({ node }) => node) ?? []);

// Asked once for each connection: a restarted service may be part of a cluster. Of one that is not, it is not asked again.
effect(() => {
  const { value: now } = session;
  if (now.state !== 'in') {
    cluster.value = null;
    return;
  }
  if (connection.value.state === 'open') void loadCluster();
});

setInterval(() => {
  if (cluster.peek() !== null && !document.hidden) void loadCluster();
}, RELOAD_MS);

/** Loads it again, as after an action. */
export async function loadCluster(): Promise<void> {
  const { value: now } = session;
  try {
    const list = await api().nodes();
    if (session.value !== now || now.state !== 'in') return;
    const next = list.state === 'off' ? null : list;
    // Views are not rendered again without need.
    if (JSON.stringify(next) !== JSON.stringify(cluster.peek())) cluster.value = next;
  } catch {
    // The next round retries; meanwhile the banner says that the connection is lost.
  }
}
