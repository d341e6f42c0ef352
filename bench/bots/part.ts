import { type Figure, ratioFigure } from '../harness/bench.js';
import type { Table } from '../harness/table.js';
import { BARE, BARE_AGAIN, SUBJECT } from './hosts.js';

export const BOTS = 10_000;

export interface Plan {
  /** Rounds of load on servers that are up. */
  rounds: number;
  seconds: number;
  warmUpSeconds: number;
  /** Rounds of crowds, each in a fresh process. */
  crowdRounds: number;
  idleMs: number;
  /** Whether a crowd is also measured with a connection for each bot. */
  connected: boolean;
}

/** What one part of the bench contributes. */
export interface Part {
  figures: Figure[];
  tables: Table[];
  measurements: Record<string, unknown>;
}

/** @param values of a contender, by its name, one for each round. */
export function ratioToBare(
  id: string,
  better: 'more' | 'less',
  values: (name: string) => number[],
): Figure {
  const bare = values(BARE);
  const noise = { first: bare, again: values(BARE_AGAIN) };
  return ratioFigure({ id, subject: values(SUBJECT), control: bare, noise, better });
}
