// What people and programs have done in the range of the page, from the journal.

import type { ActivityEvent } from '../../../src/client/index.js';
import {
  type ActivityGroup,
  activityText,
  groupActivities,
} from '../../../src/shared/contract/activity.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { t } from '../texts/text.js';
import { recorded } from './event-source.js';
import { readEvents } from './events.js';
import { type Resource, useResource } from './resource.js';
import { presentBounds, timeRange } from './time-range.js';

/** The journal has an event a moment after the stream, in ms. */
const AGAIN_MS = 5000;
/** Events that are read for marks on an axis. */
const MAX_MARKED = 500;
/** Bots that are named in a text; of more there is the number. */
const MAX_NAMES = 3;

export type ActivityRow = ActivityGroup<ActivityEvent>;

export interface Activities {
  /** The newest first, those of one request together. */
  groups: readonly ActivityRow[];
  /** There are more than were read. */
  isCut: boolean;
}

const NONE: Activities = { groups: [], isCut: false };

/** @param query selects some of them. @param most events that are read: a request for many bots has one for each. */
export function useActivities(query: string, most: number): Resource<Activities> {
  const isRecorded = recorded.value !== undefined;
  return useResource(
    async (signal) => {
      // What was recorded has no journal.
      if (isRecorded) return NONE;
      const { fromMs: after, toMs: before } = presentBounds();
      const asked = query === '' ? {} : { query };
      const where = { event: ['activity' as const], after, before, limit: most, signal };
      const page = await readEvents({ ...where, ...asked });
      const events = page.events.flatMap((one) => (one.event === 'activity' ? one.data : []));
      return { groups: groupActivities(events), isCut: page.cursor !== null };
    },
    [timeRange.value, query, most, isRecorded],
    { everyMs: AGAIN_MS },
  );
}

/** @param bot only what was done to this one. */
export function useActivityMarks(bot: string | undefined): { at: number; text: string }[] {
  const query = bot === undefined ? '' : `bot:${JSON.stringify(bot)}`;
  const { groups } = useActivities(query, MAX_MARKED).value ?? NONE;
  return groups.map((group) => ({ at: group.event.timestamp_ms, text: groupText(group) }));
}

/** `Ada restarted 250 bots`. */
export function groupText({ event, bots }: ActivityRow): string {
  const whom = bots.length > MAX_NAMES ? t('count.bots', { n: bots.length }) : bots.join(', ');
  return visible(activityText(event, whom));
}
