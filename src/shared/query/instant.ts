const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?:Z|[+-](\d{2}):(\d{2}))$/i;

/**
 * A day (UTC) like `2026-01-31`, or a date with time and zone like `2026-01-31T03:00:00Z` or `…+01:00`, in Unix epoch ms. NaN for
 * what is none, and for what does not exist: `Date.parse` moves 30 February to 2 March.
 */
export function instantOf(text: string): number {
  const [day = '', time, ...rest] = text.split(/t/i);
  if (rest.length > 0 || !isDay(day)) return Number.NaN;
  if (time !== undefined && !isTime(time)) return Number.NaN;
  return Date.parse(text.toUpperCase());
}

function isDay(text: string): boolean {
  const [, year, month, day] = (DAY.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** Checks a time of RFC 3339, where a day has no hour 24. */
function isTime(text: string): boolean {
  const [found, hour, minute, second = '0', zoneHour = '0', zoneMinute = '0'] =
    TIME.exec(text) ?? [];
  if (found === undefined) return false;
  return (
    [hour, zoneHour].every((part) => Number(part) < 24) &&
    [minute, second, zoneMinute].every((part) => Number(part) < 60)
  );
}
