// The flags that say how an operation goes through its bots.

import { type Command, Option } from 'commander';
import type { BotActions } from '../../client/index.js';
import { count, timeSpan, wholeNumber } from './flag-values.js';

export interface PaceFlags {
  parallel?: number;
  stagger?: number;
  maxFailed?: number;
}

/** @param parallel what the service does where the flag is not given. */
export function withPaceFlags(command: Command, parallel = 1000): Command {
  return command
    .option('--parallel <n>', `how many bots at once (default: ${parallel})`, count)
    .addOption(
      new Option('--stagger <time>', 'least time between the beginnings of two bots').argParser(
        timeSpan,
      ),
    )
    .option('--max-failed <n>', 'begin no further bot once more than this many failed', wholeNumber)
    .option('--no-wait', 'print the id of the operation and exit as soon as it has begun');
}

/** The fields of a request. */
export function paceOf({ parallel, stagger, maxFailed }: PaceFlags): Partial<BotActions> {
  return {
    ...(parallel !== undefined && { parallel }),
    ...(stagger !== undefined && { stagger_ms: stagger }),
    ...(maxFailed !== undefined && { max_failed: maxFailed }),
  };
}
