// Runs in tabs. Owns the list of bot hosts, requested twice a second while a view shows it: so a host that hangs, which the service
// notices after 0.75 s, is shown within two seconds.

import { computed, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { HostList } from '../../../src/client/index.js';
import { hostKey } from '../herd/grouping.js';
import type { Answered } from './asking.js';
import { connection, withConnection } from './live.js';
import { api, session } from './session.js';

const EVERY_MS = 500;
/** After an error, for example while the service restarts. */
const RETRY_MS = 2000;
const ANSWER_MS = 5000;

export const hosts = signal<HostList | undefined>(undefined);
/** Why the list is missing or outdated. */
const hostsError = signal<Error | undefined>(undefined);
export const hostsAnswer = computed<Answered<HostList>>(() =>
  withConnection({ value: hosts.value, error: hostsError.value, isLoading: true }),
);

/** The keys of the hosts that hang, joined: a string, so that it changes only when they do. */
const heldKeys = computed(() =>
  (hosts.value?.hosts ?? [])
    .flatMap(({ node, host, state }) => (state === 'hangs' ? [hostKey(node, host)] : []))
    .join('\n'),
);
export const heldHosts = computed<ReadonlySet<string>>(
  () => new Set(heldKeys.value === '' ? [] : heldKeys.value.split('\n')),
);

/** Views that show it. */
let watchers = 0;
let isAsking = false;

async function round(): Promise<void> {
  if (isAsking) return;
  isAsking = true;
  while (watchers > 0) {
    const startedAt = performance.now();
    let pauseMs = EVERY_MS;
    const { value: now } = session;
    if (!document.hidden && now.state === 'in' && connection.value.state === 'open') {
      try {
        const list = await api().hosts({ signal: AbortSignal.timeout(ANSWER_MS) });
        if (session.value === now && watchers > 0) hosts.value = list;
        hostsError.value = undefined;
      } catch (thrown) {
        hostsError.value = thrown as Error;
        pauseMs = RETRY_MS;
      }
    }
    const rest = Math.max(EVERY_MS / 2, pauseMs - (performance.now() - startedAt));
    await new Promise((resolve) => setTimeout(resolve, rest));
  }
  isAsking = false;
}

/** Keeps {@link hosts} current while the component is shown. */
export function useHosts(): void {
  useEffect(() => {
    watchers += 1;
    void round();
    return () => {
      watchers -= 1;
      // An old list says nothing about hosts that hang when the view is opened again.
      if (watchers > 0) return;
      hosts.value = undefined;
      hostsError.value = undefined;
    };
  }, []);
}
