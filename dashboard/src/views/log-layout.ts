import { rowHeightOf } from '../model/density.js';

/** Below this width of the window a row has two lines. */
export const NARROW_PX = 720;

/** In px. */
export function rowHeightFor(isNarrow: boolean): number {
  if (isNarrow) return 44;
  return rowHeightOf('log');
}
