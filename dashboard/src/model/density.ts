import { type Settings, settings } from './settings.js';

/** Heights of rows in px, of one line each. */
const ROWS: Record<Settings['density'], { bots: number; log: number }> = {
  comfortable: { bots: 38, log: 24 },
  compact: { bots: 30, log: 20 },
};

export function rowHeightOf(list: 'bots' | 'log'): number {
  return ROWS[settings.value.density][list];
}
