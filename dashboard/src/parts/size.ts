const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;
const STEP = 1024;

/** A size as people read it: `512 bytes`, `850 MB`, `1.5 GB`. */
export function sizeText(bytes: number): string {
  let size = bytes;
  let unit = 0;
  // Rounded it would be 1,024 of the smaller unit.
  while (unit < UNITS.length - 1 && Math.round(size) >= STEP) {
    size /= STEP;
    unit += 1;
  }
  const digits = unit > 2 && size < 100 ? 1 : 0;
  return `${Number(size.toFixed(digits)).toLocaleString('en')} ${UNITS[unit]}`;
}

export function megabytesText(megabytes: number): string {
  return sizeText(megabytes * STEP * STEP);
}
