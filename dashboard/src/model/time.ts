// Runs in tabs. Owns the one-second tick. Times are shown in the time zone of the settings, ages by the service's clock.

import { computed, signal } from '@preact/signals';
import { t } from '../texts/text.js';
import { clockAheadMs } from './live.js';
import { settings } from './settings.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Ticks every second while the tab is visible, to redraw ages. */
export const second = signal(0);
setInterval(() => {
  if (!document.hidden) second.value += 1;
}, 1000);

/** The service's time in Unix epoch ms. */
export function serverNow(): number {
  return Date.now() - clockAheadMs.peek();
}

/** Writes days in the order of ISO 8601, which no country reads the other way round. */
const DAYS = 'sv-SE';

const formats = computed(() => {
  const { zone } = settings.value;
  const timeZone = zone === '' ? undefined : zone;
  const hour: Intl.DateTimeFormatOptions = {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZone,
  };
  const day: Intl.DateTimeFormatOptions = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    timeZone,
  };
  return {
    clock: new Intl.DateTimeFormat('en-GB', hour),
    day: new Intl.DateTimeFormat(DAYS, day),
    zone: new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'short' }),
  };
});

/** Caches the last formatted second: formatting is slow, and many lines share a second. */
let cached = { second: Number.NaN, formats: formats.peek(), text: '' };

/** `13:07:21.482`. */
export function clockTime(ms: number): string {
  const whole = Math.floor(ms / 1000);
  if (cached.second !== whole || cached.formats !== formats.value) {
    const text = formats.value.clock.format(whole * 1000);
    cached = { second: whole, formats: formats.value, text };
  }
  return `${cached.text}.${String(ms - whole * 1000).padStart(3, '0')}`;
}

/** `2026-11-21`. */
export function day(ms: number): string {
  return formats.value.day.format(ms);
}

/** Without the year: `11-21`. */
export function shortDay(ms: number): string {
  // Without a year the format of English days writes a slash: 12/11 is read as either.
  return day(ms).slice('2026-'.length);
}

/** Caches the last day and zone: finding them is slow, and time zones change with whole quarters of an hour. */
const QUARTER_MS = 15 * 60_000;
let dated = { quarter: Number.NaN, formats: formats.peek(), day: '', zone: '' };

/** `2026-11-21 13:07:21 CET`. */
export function fullTime(ms: number): string {
  const quarter = Math.floor(ms / QUARTER_MS);
  if (dated.quarter !== quarter || dated.formats !== formats.value) {
    const zone = formats.value.zone.formatToParts(ms).find(({ type }) => type === 'timeZoneName');
    dated = { quarter, formats: formats.value, day: day(ms), zone: zone?.value ?? '' };
  }
  return `${dated.day} ${formats.value.clock.format(ms)} ${dated.zone}`.trim();
}

/** A duration in ms as `12 s`, `4 min`, `3 h 20 min` or `5 d 2 h`. Negative durations, from clock differences, are `0 s`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return t('time.seconds', { n: seconds });
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return t('time.minutes', { n: minutes });
  const hours = Math.floor(minutes / 60);
  if (hours < 24)
    return minutes % 60 === 0
      ? t('time.hours', { n: hours })
      : t('time.hoursMinutes', { hours, minutes: minutes % 60 });
  const days = Math.floor(hours / 24);
  return hours % 24 === 0
    ? t('time.days', { n: days })
    : t('time.daysHours', { days, hours: hours % 24 });
}

/** A time that is left, rounded up: of ten minutes there are `10 min` at first, not `9 min`. */
export function spanLeft(ms: number): string {
  const unit = ms > DAY_MS ? HOUR_MS : ms > MINUTE_MS ? MINUTE_MS : 1000;
  return span(Math.ceil(ms / unit) * unit);
}

/** Time since then, by the service's clock. */
export function age(ms: number): string {
  return span(serverNow() - ms);
}
