// How an operation is told in one line: of the command line.

import { hasEnded } from './operation-bounds.js';
import type { Operation } from './operations.js';

type Told = Pick<Operation, 'title' | 'state' | 'reason' | 'bots' | 'counts'>;

/** `restart 250 bots: running, 120 of 250, 1 failed`. */
export function progressText({ title, state, reason, bots, counts }: Told): string {
  const { done, failed, skipped, unknown } = counts;
  const rest = Object.entries({ failed, skipped, unknown }).flatMap(([name, number]) =>
    number === 0 ? [] : [`${number} ${name}`],
  );
  const why = reason === null ? '' : ` (${reason})`;
  const ended = hasEnded({ state }) ? done : done + failed;
  return [`${title}: ${state}${why}`, `${ended} of ${bots}`, ...rest].join(', ');
}
