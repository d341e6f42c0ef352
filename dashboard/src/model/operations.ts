// The operations of the service: its list, and what the stream has said since. Tokens that are limited to some bots have no operations
// on their stream, so they ask more often.

import { useMemo } from 'preact/hooks';
import type { Operation, OperationBot, OperationList } from '../../../src/client/index.js';
import { missedEvents, streamed, streamedVersion } from './live.js';
import { isUnlimited } from './own-token.js';
import { type Resource, useResource } from './resource.js';
import { api } from './session.js';
import { useThrottled } from './throttle.js';

/** How often it is asked again, in ms; with the events of the stream, only because what is over is kept for a day. */
const POLL_MS = 2000;
const STREAMED_POLL_MS = 60_000;
const REDRAW_MS = 150;
/** Bots of a page: the most that the service gives. */
const PAGE = 1000;

interface Dated {
  /** When it was asked for, by performance.now(): what the stream said before is older. */
  at: number;
}

/** The newest first. @param most that are listed. */
export function useOperations(most: number): Resource<OperationList> {
  const answer = useDated(async (signal) => api().operations.list({ limit: most, signal }), [most]);
  const version = useThrottled(streamedVersion, REDRAW_MS);
  const { value } = answer;
  const list = useMemo(() => {
    if (!value) return undefined;
    const all = new Map(value.operations.map((one) => [one.id, one]));
    for (const [id, { operation, at }] of streamed) if (at > value.at) all.set(id, operation);
    // Ids begin with the time.
    const operations = [...all.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
    return { ...value, operations };
  }, [value, version]);
  return { ...answer, value: list };
}

/** One operation. @param id undefined for none. */
export function useOperation(id: string | undefined): Resource<Operation | null> {
  const answer = useDated(
    async (signal) => ({
      one: id === undefined ? null : await api().operations.get(id, { signal }),
    }),
    [id],
  );
  useThrottled(streamedVersion, REDRAW_MS);
  const { value } = answer;
  const said = streamed.get(id ?? '');
  const isNewer = said !== undefined && said.at > (value?.at ?? 0);
  return { ...answer, value: isNewer ? said.operation : value?.one };
}

/** The id of the operation that takes a rollout back: its record may say so later than the stream. */
export function undoneBy({ id, rollout }: Operation): string | undefined {
  if (!rollout) return undefined;
  const found = [...streamed.values()].find(({ operation }) => operation.rollout?.undoes === id);
  return rollout.undone_by ?? found?.operation.id;
}

function useDated<T extends object>(
  load: (signal: AbortSignal) => Promise<T>,
  question: readonly unknown[],
): Resource<T & Dated> {
  return useResource(
    async (signal) => {
      const at = performance.now();
      return { ...(await load(signal)), at };
    },
    question,
    { when: [missedEvents.value], everyMs: isUnlimited() ? STREAMED_POLL_MS : POLL_MS },
  );
}

/** The bots of an operation that have failed, were skipped or are unknown, with the reasons. @param most of them. */
export async function unfinishedBots(
  id: string,
  most: number,
  signal?: AbortSignal,
): Promise<OperationBot[]> {
  const found: OperationBot[] = [];
  const result = ['failed', 'skipped', 'unknown'] as const;
  let cursor: string | undefined;
  do {
    const limit = Math.min(PAGE, most - found.length);
    const page = await api().operations.bots(id, { result, limit, cursor, signal });
    found.push(...page.bots);
    cursor = page.next ?? undefined;
  } while (cursor !== undefined && found.length < most);
  return found;
}
