const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** For durations beyond the limit of Node's timers. */
export const TOO_LONG = 'It must be at most 24d.';

/** `500ms`, `5s`, `2m`, `1.5h`, `30d`; a bare number is seconds. @returns ms, undefined if it is not a duration. */
export function parseDuration(text: string): number | undefined {
  const [, number, unit = 's'] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/.exec(text.trim()) ?? [];
  const factor = UNITS[unit];
  return number === undefined || factor === undefined ? undefined : Number(number) * factor;
}

/** In the largest unit that gives at least 1, for example `2m`. */
export function showDuration(ms: number): string {
  const unit = ['d', 'h', 'm', 's'].find((name) => ms >= (UNITS[name] ?? 0));
  if (unit === undefined) return `${Math.max(0, Math.round(ms))}ms`;
  return `${Math.round((ms / (UNITS[unit] ?? 1)) * 10) / 10}${unit}`;
}
