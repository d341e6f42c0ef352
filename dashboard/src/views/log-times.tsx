// The times of a log: the range of the page, and a histogram of the lines that match.

import { useMemo } from 'preact/hooks';
import { printTerm } from '../../../src/shared/query/print-query.js';
import { useActivityMarks } from '../model/activities.js';
import { recorded } from '../model/event-source.js';
import { isFiltered, type LogFilter } from '../model/log-filter.js';
import { ownToken } from '../model/own-token.js';
import { eventSource } from '../model/session.js';
import type { AskStats } from '../range/histogram.js';
import { HistogramView } from '../range/histogram-view.js';
import { RangePicker } from '../range/range-picker.js';

/** The counts of everything are kept in buckets of this length, in s. */
const KEPT_STEP_S = 10;

export function LogTimes({ filter }: { filter: LogFilter }) {
  const { query, bot } = filter;
  const source = recorded.value;
  // A query that cannot be read selects everything.
  const isReadable = isFiltered(filter);
  const isWhole = !isReadable && bot === undefined && !isLimited();
  const ask = useMemo(
    // A recording is searched once for its lines and their counts.
    () => asking(isWhole ? undefined : source ? query : queryFor(isReadable ? query : '', bot)),
    [source, query, bot, isWhole, isReadable],
  );
  return (
    <div class="log-times">
      <RangePicker />
      <HistogramView
        ask={ask}
        leastStepS={isWhole && !source ? KEPT_STEP_S : 1}
        marks={useActivityMarks(bot)}
      />
    </div>
  );
}

function asking(query: string | undefined): AskStats {
  return (where, signal) => eventSource().stats({ ...where, query, signal });
}

/** A token that is limited to some bots counts the lines that it reaches. */
function isLimited(): boolean {
  const token = ownToken.value;
  return token !== undefined && (token.bots !== null || token.labels !== null);
}

function queryFor(query: string, bot: string | undefined): string {
  const ofLines = 'event:log';
  if (bot === undefined) return `${ofLines} ${query}`.trim();
  const only = printTerm({
    type: 'field',
    isNot: false,
    field: 'bot',
    path: '',
    op: ':',
    values: [[bot]],
  });
  return `${ofLines} ${only} ${query}`.trim();
}
