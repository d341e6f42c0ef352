// Runs in tabs. Owns the kinds of bots, which do not change while the service runs.

import { effect, signal } from '@preact/signals';
import type { KindInfo } from '../../../src/client/index.js';
import { connection } from './live.js';
import { api, session } from './session.js';

export const kinds = signal<KindInfo[]>([]);
/** Modules that did not load, each with its reason. */
export const failedKinds = signal<{ module: string; error: string }[]>([]);

// Anew with each connection: the service may have come back with others.
effect(() => {
  const { value: now } = session;
  if (now.state !== 'in') {
    kinds.value = [];
    failedKinds.value = [];
    return;
  }
  if (connection.value.state !== 'open') return;
  api()
    .kinds()
    .then(
      (loaded) => {
        if (session.value !== now) return;
        kinds.value = loaded.kinds;
        failedKinds.value = loaded.failed;
      },
      () => {
        // The forms say that the kind is not known; the next connection asks again.
      },
    );
});
