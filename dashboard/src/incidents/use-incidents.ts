// Runs in tabs. Loads groups of incidents, and what happened beside them.

import type { IncidentGroups } from '../../../src/client/index.js';
import { readEvents } from '../model/events.js';
import { serviceErrors } from '../model/live.js';
import { type Resource, useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { useThrottled } from '../model/throttle.js';
import { language, t } from '../texts/text.js';
import { HAPPENINGS_QUERY, type Happening, happeningsOf } from './happenings.js';
import { incidentRange, type Range, rangeKey } from './incident-range.js';

/** Shortest time between two requests, in ms. */
const THROTTLE_MS = 1000;
/** A repeated incident has no line for up to a second, and other nodes have theirs. */
const AGAIN_MS = 10_000;
/** Lines and reports that a timeline is made from, the newest. */
const MAX_LINES = 1000;
const MAX_REPORTS = 200;

export interface LoadedGroups extends IncidentGroups {
  range: Range;
}

/** @param cause only this one, with all of its bots. */
export function useGroups(cause?: string): Resource<LoadedGroups> {
  // Each incident report is announced by an error line of the service.
  const errors = useThrottled(serviceErrors, THROTTLE_MS);
  return useResource(
    async (signal) => {
      const range = incidentRange();
      const { after, before } = range;
      const query = { after: Math.floor(after), before: Math.ceil(before), limit: 1000 };
      const found = await api().incidentGroups({ ...query, ...(cause && { cause }), signal });
      return { ...found, range };
    },
    [cause, errors, rangeKey()],
    AGAIN_MS,
  );
}

export interface Beside {
  happenings: Happening[];
  /** Why lines are missing, in a sentence; null when none are. */
  gap: string | null;
}

/** What happened in the range of these groups. @param groups whose first incidents are shown too. */
export function useHappenings(loaded: LoadedGroups | undefined): Resource<Beside> {
  return useResource(
    async (signal) => {
      if (!loaded) return { happenings: [], gap: null };
      const { after, before } = loaded.range;
      const range = { after: Math.floor(after), before: Math.ceil(before) };
      const query = { ...range, query: HAPPENINGS_QUERY, limit: MAX_LINES, signal };
      // Without a journal there are no lines; the losses of hosts are there all the same.
      const [page, reports] = await Promise.all([
        readEvents(query).catch((thrown: unknown) =>
          signal.aborted ? Promise.reject(thrown) : null,
        ),
        api().incidents({ limit: MAX_REPORTS, signal }),
      ]);
      const losses = reports.filter(({ at_ms }) => at_ms >= after && at_ms < before);
      const firsts = loaded.groups.filter(({ first_at_ms: at }) => at >= after && at < before);
      const happenings = happeningsOf(page?.events ?? [], losses, firsts);
      return { happenings, gap: gapOf(page) };
    },
    [loaded, language()],
  );
}

function gapOf(
  page: {
    cursor: string | null;
    events: readonly unknown[];
    missing?: readonly { node: string }[];
  } | null,
): string | null {
  if (!page) return t('timeline.noJournal');
  const nodes = page.missing?.map(({ node }) => node) ?? [];
  if (nodes.length > 0) return t('timeline.noAnswer', { nodes: nodes.join(', ') });
  if (page.cursor === null) return null;
  return t('timeline.onlyLast', { n: page.events.length });
}
