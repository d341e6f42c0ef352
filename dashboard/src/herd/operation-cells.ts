// What has become of the bots of an operation, as cells of a herd.

import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Operation, OperationBot } from '../../../src/client/index.js';
import { hasEnded } from '../../../src/shared/contract/operation-bounds.js';
import { bots } from '../model/live.js';
import { type Resource, useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { t } from '../texts/text.js';
import { type CellBot, RESULTS } from './cells.js';
import type { HerdSource } from './source.js';

/** Bots of a request, which is the most that the service gives, and bots that are shown. */
const PAGE = 1000;
export const MAX_CELLS = 10_000;
/** While bots change they are read at most this often, in ms. */
const AGAIN_MS = 1000;

const NO_HOSTS = signal<ReadonlySet<string>>(new Set());
const NOW = signal<undefined>(undefined);

/** Reads only pages with bots that have not ended: the others do not change. */
class Pages {
  readonly #id: string;
  readonly #pages: { bots: OperationBot[]; next: string | null }[] = [];

  constructor(id: string) {
    this.#id = id;
  }

  get bots(): OperationBot[] {
    return this.#pages.flatMap(({ bots: of }) => of);
  }

  async read(signal: AbortSignal): Promise<void> {
    let cursor: string | undefined;
    for (let at = 0; at < MAX_CELLS / PAGE; at++) {
      const known = this.#pages[at];
      const isOver = known?.bots.every(
        ({ result }) => result !== 'waiting' && result !== 'running',
      );
      const page = isOver
        ? known
        : await api().operations.bots(this.#id, { limit: PAGE, cursor, signal });
      if (page === undefined) return;
      this.#pages[at] = page;
      // Bots begin in their order: those behind one that waits do too, as when they were read.
      const isRest = page.bots.at(-1)?.result === 'waiting' && this.#pages[at + 1] !== undefined;
      if (page.next === null || isRest) return;
      cursor = page.next;
    }
  }
}

/** @param undoing the operation that takes a rollout back: its bots are shown as it has left them. */
export function useOperationCells(
  operation: Operation,
  undoing: Operation | null | undefined,
): { answer: Resource<true>; source: HerdSource } {
  const { id, rollout } = operation;
  const back = undoing?.id;
  const [shown, pages] = useMemo(
    () => [
      signal<ReadonlyMap<string, CellBot>>(new Map()),
      [id, ...(back === undefined ? [] : [back])].map((one) => new Pages(one)),
    ],
    [id, back],
  );
  const isUndoing = rollout?.undoes != null;
  const answer = useResource<true>(
    async (abort, show) => {
      for (const of of pages) await of.read(abort);
      const [own, undone] = pages;
      const cells = new Map<string, CellBot>();
      for (const bot of own?.bots ?? []) cells.set(bot.id, cellOf(bot, isUndoing));
      for (const bot of undone?.bots ?? []) {
        if (bot.result !== 'waiting' && bot.result !== 'skipped')
          cells.set(bot.id, cellOf(bot, true));
      }
      shown.value = cells;
      show(true);
      if (!hasEnded(operation)) await pause(AGAIN_MS, abort);
      return true;
    },
    [pages],
    { when: [JSON.stringify([operation.counts, operation.state, undoing?.counts])] },
  );
  const source = useMemo<HerdSource>(
    () => ({
      title: () => t('operation.picture'),
      ...{ bots: () => shown.peek(), version: shown, held: NO_HOSTS, moment: NOW, by: 'none' },
    }),
    [shown],
  );
  return { answer, source };
}

/** @param isUndoing whether to be done is to be taken back. */
function cellOf({ id, result }: OperationBot, isUndoing: boolean): CellBot {
  const { kind = '', host = null, labels = {} } = bots.get(id) ?? {};
  const status = RESULTS[isUndoing && result === 'done' ? 'back' : result];
  return { id, kind, host, labels, status };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
