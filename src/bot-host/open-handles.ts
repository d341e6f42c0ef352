import { kindOfHandle } from './current-bot.js';

/** What of libuv the process has open in this thread. Not in Node's types, and in its documentation only as deprecated. */
interface ProcessHandles {
  _getActiveHandles?(): { _handle?: object | null }[];
}

/**
 * Connections, servers and pipes that bots have open in this thread, by kind; also those that a run has left behind. What a kind's
 * module has opened, and files, are in no list.
 */
export function openByKind(): Record<string, number> {
  const open: Record<string, number> = Object.create(null);
  for (const { _handle } of (process as ProcessHandles)._getActiveHandles?.() ?? []) {
    const kind = _handle && kindOfHandle(_handle);
    if (kind) open[kind] = (open[kind] ?? 0) + 1;
  }
  return open;
}
