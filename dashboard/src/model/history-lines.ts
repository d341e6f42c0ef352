// Lines of the journal as the page shows them, with gaps in words.

import type { StreamEvent } from '../../../src/client/index.js';
import { gapLine, logLine } from '../hub/line.js';
import type { Line } from '../hub/messages.js';
import { t } from '../texts/text.js';

/** The lines and gaps of a page of history; other events are skipped. */
export function historyLines(events: readonly StreamEvent[]): Line[] {
  const lines: Line[] = [];
  let at = 0;
  for (const event of events) {
    if (event.event === 'log') {
      at = event.data.timestamp_ms;
      lines.push({ ...logLine(event.id ?? '', event.data), n: 0 });
    } else if (event.event === 'gap') {
      lines.push(inWords({ ...gapLine(event.id ?? '', event.data, at), n: 0 }));
    }
  }
  return lines;
}

/** The text of a gap says what is missing; other lines are unchanged. */
export function inWords<L extends Line>(line: L): L {
  if (!line.gap) return line;
  const { dropped, from, to } = line.gap;
  const text =
    dropped === null ? t('log.gapUnknown', { from, to }) : t('log.gap', { n: dropped, from, to });
  return { ...line, text };
}
