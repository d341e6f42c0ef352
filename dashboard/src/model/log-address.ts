import { useMemo } from 'preact/hooks';
import type { Level } from '../../../src/client/index.js';
import { LEVEL_NAMES, type LogFilter } from './log-filter.js';
import { changeQuery, route } from './route.js';

interface LogAddress {
  filter: LogFilter;
  onFilter: (filter: LogFilter) => void;
}

/** The log filter as part of the address. @param bot the only bot of the log; without it the filter includes bots. */
export function useLogAddress(bot?: string): LogAddress {
  const { query } = route.value;
  const text = query.toString();
  const filter = useMemo(() => {
    const read = filterOf(query);
    return bot === undefined ? read : { ...read, bots: [bot] };
  }, [text, bot]);
  const onFilter = ({ levels, scopes, bots, dir, text }: LogFilter): void =>
    changeQuery({
      level: levels.join(),
      scope: scopes.join(),
      bot: bot === undefined ? bots.join() : '',
      dir,
      q: text,
      // The linked line may not pass the new filter.
      at: '',
    });
  return { filter, onFilter };
}

function filterOf(query: URLSearchParams): LogFilter {
  const list = (name: string): string[] =>
    (query.get(name) ?? '').split(',').filter((part) => part !== '');
  const dir = query.get('dir');
  return {
    levels: list('level').filter((name): name is Level =>
      (LEVEL_NAMES as readonly string[]).includes(name),
    ),
    scopes: list('scope'),
    bots: list('bot'),
    dir: dir === 'in' || dir === 'out' || dir === 'wire' ? dir : '',
    text: query.get('q') ?? '',
  };
}
