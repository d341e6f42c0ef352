// Runs in tabs. Owns the list of bot kinds.

import { computed, effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ListedKind } from '../../../src/client/index.js';
import { type Answered, NOT_ASKED } from './asking.js';
import { connection, withConnection } from './live.js';
import { api, session } from './session.js';

export const kinds = signal<ListedKind[]>([]);
/** Whether they are loaded, or why not. */
const asked = signal<Answered<true>>(NOT_ASKED);
export const kindsAnswer = computed(() => withConnection(asked.value));
/** Modules that failed to load, with the reason. */
export const failedKinds = signal<{ module: string; error: string }[]>([]);

/** Files of kinds change at any time, and bots go from one version to another. */
const AGAIN_MS = 5000;

/** Keeps {@link kinds} current while the component is shown. */
export function useKinds(): void {
  useEffect(() => {
    loadKinds();
    const timer = setInterval(() => !document.hidden && loadKinds(), AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
}

// Reloaded with each connection: a restarted service may have other kinds.
effect(() => {
  const { value: now } = session;
  if (now.state !== 'in') {
    kinds.value = [];
    failedKinds.value = [];
    asked.value = NOT_ASKED;
    return;
  }
  if (connection.value.state === 'open') loadKinds();
});

/** Loads them again: programs say when they run which commands they have. */
export function loadKinds(): void {
  const { value: now } = session;
  if (now.state !== 'in') return;
  api()
    .kinds()
    .then(
      (loaded) => {
        if (session.value !== now) return;
        // Avoids needless renderings of forms.
        if (JSON.stringify(loaded.kinds) !== JSON.stringify(kinds.value)) {
          kinds.value = loaded.kinds;
        }
        asked.value = { value: true, error: undefined, isLoading: false };
        failedKinds.value = loaded.failed.filter(({ helper }) => !helper);
      },
      // The next connection retries.
      (error: Error) => {
        if (session.value === now) asked.value = { ...asked.value, error };
      },
    );
}
