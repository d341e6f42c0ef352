// Runs in tabs. Times of a run, since its start.

import { t } from '../texts/text.js';

const MINUTE_S = 60;
const HOUR_S = 3600;
/** `+0:07.482`, `+1:02:03.004`. */
export function sinceText(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  const seconds = Math.floor(whole / 1000);
  const hours = Math.floor(seconds / HOUR_S);
  const minutes = Math.floor(seconds / MINUTE_S) % MINUTE_S;
  const two = (number: number): string => String(number).padStart(2, '0');
  const rest = `${two(seconds % MINUTE_S)}.${String(whole % 1000).padStart(3, '0')}`;
  return hours > 0 ? `+${hours}:${two(minutes)}:${rest}` : `+${minutes}:${rest}`;
}

/** A length as people read it: `820 ms`, `12.4 s`, `3 min 20 s`. */
export function lengthText(ms: number): string {
  if (ms < 1000) return t('time.ms', { n: Math.round(ms) });
  if (ms < 60_000) return t('time.seconds', { n: Number((ms / 1000).toFixed(1)) });
  const seconds = Math.round(ms / 1000);
  const hours = Math.floor(seconds / HOUR_S);
  const minutes = Math.floor(seconds / MINUTE_S) % MINUTE_S;
  return hours > 0
    ? t('time.hoursMinutes', { hours, minutes })
    : t('runs.minutesSeconds', { minutes, seconds: seconds % MINUTE_S });
}
