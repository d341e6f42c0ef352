import type { JsonObject } from './contract/json.js';
import type { Program } from './contract/programs.js';

/** What a program gets of the environment of the process that starts it, which may hold secrets. */
const INHERITED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR'];

/** The environment of the program of a bot. @param config of the bot. */
export function programEnvironment(
  id: string,
  { kind, definition: { env = {} } }: Pick<Program, 'kind' | 'definition'>,
  config: JsonObject,
): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && (INHERITED.includes(name) || name.startsWith('LC_')),
  );
  const own = Object.entries(env).flatMap(([name, value]): [string, string][] => {
    if (typeof value === 'string') return [[name, value]];
    const given = config[value.config];
    // An optional key that the bot does not have.
    if (given === undefined || given === null) return [];
    return [[name, typeof given === 'string' ? given : JSON.stringify(given)]];
  });
  return Object.fromEntries([
    ...(inherited as [string, string][]),
    ['DROVER_BOT_ID', id],
    ['DROVER_KIND', kind],
    ...own,
  ]);
}
