// Runs in tabs. Loads groups of incidents, and what happened beside them.

import { useMemo, useRef } from 'preact/hooks';
import type {
  CallOptions,
  Incident,
  IncidentGroup,
  IncidentGroups,
} from '../../../src/client/index.js';
import type { Answered } from '../model/asking.js';
import { serviceErrors } from '../model/live.js';
import { type Resource, useResource } from '../model/resource.js';
import { api, eventSource } from '../model/session.js';
import { useThrottled } from '../model/throttle.js';
import { BesideSearch, extendAll, type Found } from './beside-search.js';
import { fitted, type Range } from './fitted-range.js';
import { HAPPENINGS_QUERIES, type Happening, happeningsOf, isLoss } from './happenings.js';
import { incidentRange, isFree, rangeKey } from './incident-range.js';

/** Shortest time between two requests, in ms. */
const THROTTLE_MS = 1000;
/** A repeated incident has no line for up to a second, and other nodes have theirs. */
const AGAIN_MS = 10_000;
/** Causes of lost hosts whose incidents are read, the latest, and how many incidents of each. */
const MAX_LOSS_CAUSES = 20;
const MAX_LOSSES = 50;

export interface LoadedGroups extends IncidentGroups {
  range: Range;
  /** Incidents that ended a host. */
  losses: readonly Incident[];
}

/** @param cause only this one, with all of its bots. */
export function useGroups(cause?: string): Resource<LoadedGroups> {
  // Each incident report is announced by an error line of the service.
  const errors = useThrottled(serviceErrors, THROTTLE_MS);
  const losses = useRef(new Losses()).current;
  return useResource(
    async (signal) => {
      const read = (range: Range, more: { cause?: string } = {}): Promise<IncidentGroups> => {
        const ends = { after: Math.floor(range.after), before: Math.ceil(range.before) };
        return eventSource().incidentGroups({ ...ends, limit: 1000, ...more, signal });
      };
      const whole = incidentRange();
      const all = await read(whole);
      const range = isFree() ? fitted(whole, firstOf(all.groups, whole)) : whole;
      const isWhole = range.after === whole.after;
      const found = cause ? await read(range, { cause }) : isWhole ? all : await read(range);
      return { ...found, range, losses: await losses.of(all.groups, range, signal) };
    },
    [cause, rangeKey()],
    { when: [errors], everyMs: AGAIN_MS },
  );
}

/** When the first incident in the range was, as far as the groups say. */
function firstOf(groups: readonly IncidentGroup[], { after }: Range): number | undefined {
  const times = groups.map(({ first_at_ms }) => Math.max(first_at_ms, after));
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Reads the incidents that ended hosts by cause: they are few, and a list of the latest incidents of all causes might not have them. */
class Losses {
  /** By cause, with how often it had happened. */
  readonly #known = new Map<string, { count: number; incidents: readonly Incident[] }>();

  async of(
    groups: readonly IncidentGroup[],
    { after, before }: Range,
    signal: NonNullable<CallOptions['signal']>,
  ): Promise<Incident[]> {
    const latest = groups.filter(isLoss).slice(0, MAX_LOSS_CAUSES);
    const lists = latest.map(async ({ cause, count }) => {
      const known = this.#known.get(cause);
      if (known?.count === count) return known.incidents;
      const incidents = await api().incidents({ cause, limit: MAX_LOSSES, signal });
      this.#known.set(cause, { count, incidents });
      return incidents;
    });
    const all = (await Promise.all(lists)).flat();
    return all.filter(({ at_ms }) => at_ms >= after && at_ms < before);
  }
}

export interface Beside extends Answered<Found | undefined> {
  /** What is known so far, the newest first. */
  happenings: readonly Happening[];
}

/** What happened in the range of these groups: their first incidents and the losses at once, the rest as the search finds it. */
export function useBeside(loaded: LoadedGroups | undefined): Beside {
  const searches = useRef(
    HAPPENINGS_QUERIES.map(
      (query) => new BesideSearch((where) => eventSource().events({ ...where, query })),
    ),
  ).current;
  // A default range moves with the time; the start of a chosen one is fixed.
  const length = loaded && isFree() ? loaded.range.before - loaded.range.after : 0;
  const answer = useResource<Found | undefined>(
    async (signal, show) => loaded && (await extendAll(searches, loaded.range, signal, show)),
    [rangeKey(), length],
    { when: [loaded] },
  );
  const happenings = useMemo(() => {
    if (!loaded) return [];
    const { after, before } = loaded.range;
    const firsts = loaded.groups.filter(({ first_at_ms: at }) => at >= after && at < before);
    return happeningsOf(answer.value?.events ?? [], loaded.losses, firsts);
  }, [loaded, answer.value]);
  return { ...answer, happenings };
}
