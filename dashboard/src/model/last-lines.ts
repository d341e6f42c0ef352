// Runs in tabs. Owns the last lines of bots from before the stream began: the hub has only what came since.

import { effect } from '@preact/signals';
import { pastLines } from '../hub/line.js';
import { connection, takePastLines } from './live.js';
import { api, session } from './session.js';

/** As many as the service gives in one page: most bots have said something lately, and the rest stay without. */
const LIMIT = 1000;

// Anew with each connection: the state may have been begun anew with it.
effect(() => {
  const { value: now } = session;
  if (now.state !== 'in' || connection.value.state !== 'open') return;
  api()
    .events({ kind: ['log'], limit: LIMIT })
    .then(
      ({ events }) => {
        if (session.value === now) takePastLines(pastLines(events));
      },
      () => {
        // Without a journal the column fills as they speak.
      },
    );
});
