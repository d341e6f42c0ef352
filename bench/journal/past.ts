// A service whose journal is filled by its bots, and what it says about that.

import { setTimeout as delay } from 'node:timers/promises';
import { ask } from '../harness/ask.js';
import type { Drover } from '../harness/drover.js';

export interface JournalInfo {
  bytes: number;
  lost: number;
  oldest: string;
  newest: string;
}

export async function get<T>({ server, authorization }: Drover, path: string): Promise<T> {
  return JSON.parse(await ask(server.url, path, { authorization })) as T;
}

export async function journalInfo(drover: Drover): Promise<JournalInfo> {
  return (await get<{ journal: JournalInfo }>(drover, '/api/stats')).journal;
}

const seqOf = (id: string): number => Number(id.slice(id.indexOf('-') + 1));

/** Lets the bots that `start` creates log until the journal has this many further events, then stops all bots. */
export async function fillJournal(
  drover: Drover,
  events: number,
  start: () => Promise<void>,
): Promise<void> {
  const first = seqOf((await journalInfo(drover)).newest);
  await start();
  for (;;) {
    const { newest } = await journalInfo(drover);
    if (seqOf(newest) - first >= events) break;
    await delay(200);
  }
  const { bots } = await get<{ bots: { id: string }[] }>(drover, '/api/bots');
  await ask(drover.server.url, '/api/bots/actions', {
    method: 'POST',
    authorization: drover.authorization,
    body: { action: 'stop', ids: bots.map(({ id }) => id) },
  });
}
