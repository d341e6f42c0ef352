import { numberText, t } from '../texts/text.js';

const UNITS = ['KB', 'MB', 'GB', 'TB'] as const;
const STEP = 1024;

/** A size as people read it: `512 bytes`, `850 MB`, `1.5 GB`. */
export function sizeText(bytes: number): string {
  let size = bytes;
  /** Of UNITS; bytes are before them. */
  let unit = -1;
  // Rounded it would be 1,024 of the smaller unit.
  while (unit < UNITS.length - 1 && Math.round(size) >= STEP) {
    size /= STEP;
    unit += 1;
  }
  const digits = unit > 1 && size < 100 ? 1 : 0;
  const rounded = Number(size.toFixed(digits));
  if (unit < 0) return t('size.bytes', { n: rounded });
  return `${numberText(rounded)} ${UNITS[unit]}`;
}

export function megabytesText(megabytes: number): string {
  return sizeText(megabytes * STEP * STEP);
}
