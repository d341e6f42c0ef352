// Runs in tabs. Loads the last line of each bot from the journal: the hub has only lines since the stream began.

import { effect, signal } from '@preact/signals';
import { historyLines } from './history-lines.js';
import { searchLastLines } from './last-line-search.js';
import { addHistoryLines, connection } from './live.js';
import { api, session } from './session.js';
import { forgetSilence, noteReadTo, noteWithout, silentBots } from './silence.js';

const PAGE = 1000;

/** One page has the last line of most bots, in one request. A table of bots wants it of those that say little, too. */
const isThorough = signal(false);

export function wantAllLastLines(): void {
  isThorough.value = true;
}

// Reloaded with each connection, which may have reset the state.
effect(() => {
  const { value: now } = session;
  const isAll = isThorough.value;
  if (now.state !== 'in' || connection.value.state !== 'open') return;
  forgetSilence();
  const stop = new AbortController();
  const { signal: stopped } = stop;
  const ask = async (session: readonly string[] | undefined, cursor: string | undefined) => {
    const page = await api().events({
      kind: ['log'],
      limit: PAGE,
      ...(session && { session: [...session] }),
      ...(cursor !== undefined && { cursor }),
      signal: stopped,
    });
    stopped.throwIfAborted();
    const lines = historyLines(page.events);
    addHistoryLines(lines);
    return { lines, isLast: page.cursor === null, cursor: page.cursor ?? undefined };
  };
  searchLastLines(
    { ask, missing: silentBots, reached: noteReadTo, without: noteWithout },
    isAll,
  ).catch(() => {
    // Without a journal the column fills as bots log.
  });
  return () => stop.abort();
});
