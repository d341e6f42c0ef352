// Runs in tabs. Owns the list of nodes as the service last gave it; null for a single service.

import { computed, effect, signal } from '@preact/signals';
import type { NodeList } from '../../../src/client/index.js';
import { type Answered, NOT_ASKED } from './asking.js';
import { connection, withConnection } from './live.js';
import { api, session } from './session.js';

const RELOAD_MS = 5000;

export const cluster = signal<NodeList | null>(null);
/** Whether it is known if there is a cluster, and why not. */
const asked = signal<Answered<true>>(NOT_ASKED);
export const clusterAnswer = computed(() => withConnection(asked.value));
/** The names of its nodes; empty for a single service. */
export const nodeNames = computed(() => cluster.value?.nodes.map(({ node }) => node) ?? []);

// Asked once for each connection: a restarted service may be part of a cluster. A single service is not asked again.
effect(() => {
  const { value: now } = session;
  if (now.state !== 'in') {
    cluster.value = null;
    asked.value = NOT_ASKED;
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
    const { value: isKnown, error } = asked.peek();
    if (!isKnown || error) asked.value = { value: true, error: undefined, isLoading: false };
    const next = list.state === 'off' ? null : list;
    // Avoids needless renderings of views.
    if (JSON.stringify(next) !== JSON.stringify(cluster.peek())) cluster.value = next;
  } catch (thrown) {
    // The next round retries.
    if (session.value === now) asked.value = { ...asked.value, error: thrown as Error };
  }
}
