import { useEffect, useRef } from 'preact/hooks';
import type { BotHistory, BotSnapshot } from '../../../src/client/index.js';
import { botField } from '../../../src/shared/query/bot-field.js';
import { type Resource, useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { serverNow } from '../model/time.js';
import type { LiveValue } from './series.js';

/** Values that came since the journal was read; then the oldest are dropped, and are in the journal when it is read again. */
const MAX_LIVE = 500;
/** The part of a range from whose beginning nothing is known. */
const YOUNG = 0.75;
/** How often the journal is read again, in ms. */
const AGAIN_MS = 60_000;

export interface FieldHistory extends Pick<Resource<BotHistory>, 'value' | 'error' | 'isLoading'> {
  /** What has come since, oldest first, by field. */
  live: ReadonlyMap<string, readonly LiveValue[]>;
  /** The range, Unix epoch ms: from where on something is known. */
  from: number;
  to: number;
}

/** What is read: the last `spanMs`, or a time of the past. */
export type HistoryRange = { spanMs: number } | { fromMs: number; toMs: number };

const NONE: FieldHistory['live'] = new Map();

/** The past of fields of a bot: from the journal, and while it is live from the stream. @param names at most 10; none asks for nothing. */
export function useHistory(
  bot: BotSnapshot,
  names: readonly string[],
  range: HistoryRange,
  points: number,
): FieldHistory {
  const live = useRef(new Map<string, LiveValue[]>());
  const key = names.join();
  const isFixed = 'toMs' in range;
  const rangeKey = JSON.stringify(range);
  const { value, error, isLoading } = useResource(
    async (signal) => {
      if (names.length === 0) return undefined;
      const { after, before } = timesOf(range);
      const ask = (from: number) =>
        api().bots.history(bot.id, { field: names, after: from, before, points, signal });
      const found = await ask(after);
      // A young bot has data in few parts of the range, so the known time is requested in finer parts.
      // A part has the time of its last change.
      const first = firstKnown(found) ?? after;
      const isYoung = first - after > YOUNG * ((before ?? serverNow()) - after);
      return isYoung ? ask(first - found.step_ms) : found;
    },
    [bot.id, key, rangeKey, points],
    isFixed ? {} : { everyMs: AGAIN_MS },
  );
  useEffect(() => live.current.clear(), [bot.id, key, rangeKey]);
  useEffect(() => {
    const at = serverNow();
    for (const name of names) {
      const now = botField(name)?.of(bot) ?? null;
      const list = live.current.get(name) ?? [];
      live.current.set(name, list);
      if (list.at(-1)?.value !== now) list.push({ at, value: now });
      if (list.length > MAX_LIVE) list.splice(0, list.length - MAX_LIVE);
    }
  }, [bot, key]);
  const { after, before: to = serverNow() } = timesOf(range);
  // If the journal does not reach back to the start, the known time gets the whole width.
  const from = Math.max(after, (value && firstKnown(value)) ?? 0);
  return { value, error, isLoading, live: isFixed ? NONE : live.current, from, to };
}

/** Where the journal knows nothing before. */
function firstKnown({ before, points }: BotHistory): number | undefined {
  return before === null ? points[0]?.at_ms : undefined;
}

function timesOf(range: HistoryRange): { after: number; before: number | undefined } {
  if ('toMs' in range) return { after: Math.floor(range.fromMs), before: Math.ceil(range.toMs) };
  return { after: Math.floor(serverNow() - range.spanMs), before: undefined };
}
