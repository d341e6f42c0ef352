import { useMemo } from 'preact/hooks';
import { queryIn } from '../query/address-query.js';
import type { LogFilter } from './log-filter.js';
import { changeQuery, route } from './route.js';
import { presentBounds, timeRange } from './time-range.js';

interface LogAddress {
  filter: LogFilter;
  onFilter: (query: string) => void;
}

/** The log filter as part of the address. @param bot the only bot of the log. */
export function useLogAddress(bot?: string): LogAddress {
  const { query } = route.value;
  const text = query.toString();
  const range = timeRange.value;
  // Computed once for each range: the start of a live range moves with the time, so each call would give other bounds.
  const bounds = useMemo(presentBounds, [range]);
  const filter = useMemo(
    () => ({ query: queryIn(query), bot, range: bounds }),
    [text, bot, bounds],
  );
  // The linked line may not pass the new filter.
  const onFilter = (q: string): void => changeQuery({ q, at: '' });
  return { filter, onFilter };
}
