import type { EventsQuery, Level } from '../../../src/client/index.js';
import { withoutEscapes } from '../../../src/shared/contract/escapes.js';
import type { Line } from '../hub/messages.js';

export const LEVEL_NAMES = ['info', 'warn', 'error', 'state'] as const;

export interface LogFilter {
  /** Empty matches everything; so do the other fields. */
  levels: readonly Level[];
  scopes: readonly string[];
  bots: readonly string[];
  dir: '' | 'in' | 'out' | 'wire';
  text: string;
}

/** Bound of the search text. */
export const MAX_TEXT = 1000;

/** The filter as a query of the journal, which cannot filter by direction. */
export function queryOf({ levels, scopes, bots, text }: LogFilter): EventsQuery {
  return {
    kind: ['log'],
    level: some(levels),
    scope: some(scopes),
    session: some(bots),
    q: text === '' ? undefined : text.slice(0, MAX_TEXT),
  };
}

/** In a query an empty list would match nothing. */
function some<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length > 0 ? list : undefined;
}

/** Whether it leaves out anything. @param isOfOne the bot of the filter is not a choice of the user. */
export function isFiltered(
  { levels, scopes, bots, dir, text }: LogFilter,
  isOfOne: boolean,
): boolean {
  const isOfSome = !isOfOne && bots.length > 0;
  return isOfSome || levels.length > 0 || scopes.length > 0 || dir !== '' || text !== '';
}

/** A predicate for lines. Gaps always pass. */
export function passesOf({ levels, scopes, bots, dir, text }: LogFilter): (line: Line) => boolean {
  const mark = text.toLowerCase();
  return (line) => {
    if (line.level === 'gap') return true;
    if (levels.length > 0 && !levels.includes(line.level)) return false;
    if (scopes.length > 0 && !scopes.includes(line.scope)) return false;
    if (bots.length > 0 && (line.bot === null || !bots.includes(line.bot))) return false;
    if (dir === 'wire' ? line.dir === null : dir !== '' && line.dir !== dir) return false;
    return mark === '' || withoutEscapes(line.text).toLowerCase().includes(mark);
  };
}
