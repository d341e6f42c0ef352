// Runs in tabs. Loads the last line of each bot from the journal: the hub has only lines since the stream began.

import { effect, signal } from '@preact/signals';
import { ApiError } from '../../../src/client/index.js';
import type { Connection } from '../hub/messages.js';
import { historyLines } from './history-lines.js';
import { searchLastLines } from './last-line-search.js';
import { addHistoryLines, connection, missedAt } from './live.js';
import { api, session } from './session.js';
import { forgetSilence, noteReadTo, noteWithout, silentBots } from './silence.js';

const PAGE = 1000;
/** Where lines are missed again and again, the journal is asked when none was for so long, in ms. */
const CALM_MS = 2000;

/** One page has the last line of most bots, in one request. A table of bots needs it for quiet bots too. */
const tables = signal(0);
/** Incremented when the journal is to be asked again. */
const tries = signal(0);
/** What the newest page was read for. */
let read: { open: Connection; missed: number | null } | undefined;

/** @returns what ends it. What was found stays. */
export function wantAllLastLines(): () => void {
  tables.value += 1;
  return () => {
    tables.value -= 1;
  };
}

// Reloaded with each connection, which may have reset the state, and when lines were missed.
effect(() => {
  const { value: now } = session;
  const { value: open } = connection;
  const { value: missed } = missedAt;
  const isAll = tables.value > 0;
  void tries.value;
  if (now.state !== 'in' || open.state !== 'open') return;
  const isRead = read?.open === open && read.missed === missed;
  if (isRead && !isAll) return;
  if (!isRead) forgetSilence();
  const stop = new AbortController();
  const { signal: stopped } = stop;
  const ask = async (session: readonly string[] | undefined, cursor: string | undefined) => {
    const page = await api().events({
      event: ['log'],
      limit: PAGE,
      ...(session && { session: [...session] }),
      ...(cursor !== undefined && { cursor }),
      signal: stopped,
    });
    stopped.throwIfAborted();
    read = { open, missed };
    const lines = historyLines(page.events);
    addHistoryLines(lines);
    return {
      lines,
      isLast: page.cursor === null,
      cursor: page.cursor ?? undefined,
      isPartial: (page.missing?.length ?? 0) > 0,
    };
  };
  const parts = { ask, missing: silentBots, reached: noteReadTo, without: noteWithout };
  const search = (): Promise<void> =>
    searchLastLines(parts, isAll).catch((thrown: unknown) => {
      // Without a journal the column fills as bots log. One that is busy, or is still being checked, says when to ask again.
      if (stopped.aborted || !(thrown instanceof ApiError) || !thrown.retryAfterMs) return;
      timer = setTimeout(() => {
        tries.value += 1;
      }, thrown.retryAfterMs);
    });
  let timer: ReturnType<typeof setTimeout> | undefined;
  if (read?.open === open && !isRead) timer = setTimeout(search, CALM_MS);
  else void search();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
});
