/** A date and a time of day, as a clock on the wall shows them. */
export interface WallTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  ms: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone === '' ? undefined : zone,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      hourCycle: 'h23',
    });
    formats.set(zone, format);
  }
  return format;
}

/** @param zone IANA name; '' is the browser's. */
export function wallTime(epochMs: number, zone: string): WallTime {
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(epochMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const of = (name: string): number => parts[name] ?? 0;
  return {
    year: of('year'),
    month: of('month'),
    day: of('day'),
    hour: of('hour'),
    minute: of('minute'),
    second: of('second'),
    ms: ((epochMs % 1000) + 1000) % 1000,
  };
}

/**
 * The time in Unix epoch ms. A day beyond the month's last is in the next month. Of a time that comes twice, when clocks are set back,
 * it is the first; of one that does not come, what it would have been without the change.
 */
export function epochOf(wall: WallTime, zone: string): number {
  const asUtc = utcOf(wall);
  const offsetAt = (ms: number): number => utcOf(wallTime(ms, zone)) - ms;
  // The offsets before and after any change that is near.
  const [before, after] = [offsetAt(asUtc - 86_400_000), offsetAt(asUtc + 86_400_000)];
  const found = [asUtc - before, asUtc - after].filter((ms) => offsetAt(ms) === asUtc - ms);
  return found.length > 0 ? Math.min(...found) : asUtc - before;
}

function utcOf({ year, month, day, hour, minute, second, ms }: WallTime): number {
  return Date.UTC(year, month - 1, day, hour, minute, second, ms);
}
