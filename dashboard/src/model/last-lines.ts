// Runs in tabs. Loads the last line of each bot from the journal: the hub has only lines since the stream began.

import { effect } from '@preact/signals';
import { historyLines } from './history-lines.js';
import { addHistoryLines, connection } from './live.js';
import { api, session } from './session.js';

/** One page: enough for most bots; the rest get a last line when they next log. */
const LIMIT = 1000;

// Reloaded with each connection, which may have reset the state.
effect(() => {
  const { value: now } = session;
  if (now.state !== 'in' || connection.value.state !== 'open') return;
  api()
    .events({ kind: ['log'], limit: LIMIT })
    .then(
      ({ events }) => {
        if (session.value === now) addHistoryLines(historyLines(events));
      },
      () => {
        // Without a journal the column fills as bots log.
      },
    );
});
