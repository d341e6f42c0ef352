// Runs in the command line. Owns the flags that choose events.

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

/** @param known values that there are; the service would take others too, and they would match nothing. */
function flag(flags: string, description: string, known?: readonly string[]): Option {
  return new Option(flags, `${description}; several comma-separated or repeated`).argParser(
    (text: string, before: string[] | undefined) => {
      const values = list(text, before);
      const unknown = values.find((value) => known && !known.includes(value));
      if (unknown === undefined) return values;
      throw new InvalidArgumentError(`There are: ${known?.join(', ')}.`);
    },
  );
}

/** @param kinds what is shown when no kind is asked for, for the help. */
export function withFilter(command: Command, kinds: string): Command {
  return command
    .addOption(flag('--bot <id>', 'only of this bot'))
    .addOption(flag('--level <level>', `only lines of this level: ${LEVELS.join(', ')}`, LEVELS))
    .addOption(flag('--scope <scope>', 'only lines of this scope, for example tcp'))
    .addOption(flag('--kind <kind>', `log, session, or both (default: ${kinds})`, KINDS));
}

/** @param kinds when none was asked for. */
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

/** A filter as its flags say it: `level warn,error, bot a`. One out of a file may hold anything. */
export function wordsOf({ kind, level, session, scope }: EventFilter): string {
  return Object.entries({ kind, level, bot: session, scope })
    .flatMap(([name, values]) =>
      values === undefined ? [] : `${name} ${[values].flat().join(',')}`,
    )
    .join(', ');
}
