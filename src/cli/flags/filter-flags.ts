import { type Command, InvalidArgumentError, Option } from 'commander';
import type { EventFilter, Level } from '../../client/index.js';
import { list } from './flag-values.js';

export interface FilterFlags {
  kind?: string[];
  level?: string[];
  bot?: string[];
  scope?: string[];
}

const KINDS: readonly string[] = ['log', 'session'];
const LEVELS: readonly string[] = ['info', 'warn', 'error', 'state'];

/** @param known allowed values. The service accepts others, but they match nothing. */
function flag(flags: string, description: string, known?: readonly string[]): Option {
  return new Option(flags, `${description} (comma-separated or repeated)`).argParser(
    (text: string, before: string[] | undefined) => {
      const values = list(text, before);
      const unknown = values.find((value) => known && !known.includes(value));
      if (unknown === undefined) return values;
      throw new InvalidArgumentError(`Allowed choices are ${known?.join(', ')}.`);
    },
  );
}

/** @param kinds the default, for the help text. */
export function withFilter(command: Command, kinds: string): Command {
  return command
    .addOption(flag('--bot <id>', 'only events of this bot'))
    .addOption(flag('--level <level>', `only lines of this level: ${LEVELS.join(', ')}`, LEVELS))
    .addOption(flag('--scope <scope>', 'only lines of this scope, for example tcp'))
    .addOption(flag('--kind <kind>', `log, session, or both; default ${kinds}`, KINDS));
}

/** @param kinds the default. */
export function filterOf(
  { kind, level, bot, scope }: FilterFlags,
  kinds?: readonly ('log' | 'session')[],
): EventFilter {
  return {
    kind: (kind as ('log' | 'session')[] | undefined) ?? kinds,
    level: level as Level[] | undefined,
    session: bot,
    scope,
  };
}

/** A filter in the words of its flags: `level warn,error, bot a`. A filter read from a file may hold anything. */
export function wordsOf({ kind, level, session, scope }: EventFilter): string {
  return Object.entries({ kind, level, bot: session, scope })
    .flatMap(([name, values]) =>
      values === undefined ? [] : `${name} ${[values].flat().join(',')}`,
    )
    .join(', ');
}
