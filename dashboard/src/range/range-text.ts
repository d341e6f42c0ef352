import { clockTime, day, serverNow, shortDay, span } from '../model/time.js';
import { t } from '../texts/text.js';
import type { TimeRange } from './range.js';

const DAY_MS = 86_400_000;

/** A range in words: `Live`, `Last 20 min`, `Since 14:02`, `14:02 – 14:10`, `11-23 14:02 – 15:00`. */
export function rangeText({ from, toMs }: TimeRange): string {
  if (toMs === undefined) {
    if (from === undefined) return t('range.live');
    return 'agoMs' in from ? lastText(from.agoMs) : t('range.since', { time: momentText(from.ms) });
  }
  if (from === undefined || 'agoMs' in from) return t('range.until', { time: momentText(toMs) });
  const isOneDay = day(from.ms) === day(toMs);
  return `${momentText(from.ms)} – ${isOneDay ? timeText(toMs) : momentText(toMs)}`;
}

/** `Last 20 min`. One day is 24 h, as in the charts. */
export function lastText(ms: number): string {
  return t('range.last', { time: ms === DAY_MS ? t('time.hours', { n: 24 }) : span(ms) });
}

/** `14:02`, with seconds where it has some, and with the day where that is not today. */
export function momentText(ms: number): string {
  return day(ms) === day(serverNow()) ? timeText(ms) : `${shortDay(ms)} ${timeText(ms)}`;
}

/** As {@link momentText}, always with seconds: for one of several that are compared. */
export function secondText(ms: number): string {
  const time = clockTime(ms).slice(0, 8);
  return day(ms) === day(serverNow()) ? time : `${shortDay(ms)} ${time}`;
}

function timeText(ms: number): string {
  const text = clockTime(ms);
  if (!text.endsWith('.000')) return text.slice(0, 8);
  return text.slice(0, text.endsWith(':00.000') ? 5 : 8);
}
