// Runs in the bench process. Owns the order in which contenders are measured.

import type { Progress } from './progress.js';

/** One of the things that are compared: the service, a control, the same control once more. */
export interface Contender<Measurement> {
  name: string;
  /** Brings it to working speed; what it does is not counted. */
  warmUp(): Promise<void>;
  /** One measurement, with the check that what was measured is right. @throws Error when it is not. */
  measure(): Promise<Measurement>;
}

/**
 * The order of one round: as given, in the next round reversed (A B C, C B A, …), so that nobody is always first
 * on a machine that gets warmer or busier while the bench runs.
 */
export function orderOfRound<T>(items: readonly T[], round: number): T[] {
  return round % 2 === 0 ? [...items] : items.toReversed();
}

/** Measurements by the name of the contender, one a round, in the order of the rounds. */
export type Measurements<Measurement> = ReadonlyMap<string, readonly Measurement[]>;

/** Warms every contender up, then measures each of them once a round. One at a time: nothing else has load meanwhile. */
export async function runRounds<Measurement>(
  what: string,
  contenders: readonly Contender<Measurement>[],
  rounds: number,
  progress: Progress,
): Promise<Measurements<Measurement>> {
  const measured = new Map(contenders.map(({ name }) => [name, [] as Measurement[]]));
  if (measured.size !== contenders.length) throw new Error('two contenders have the same name');
  for (const contender of contenders) {
    progress.step(`${what}: warm-up, ${contender.name}`);
    await contender.warmUp();
  }
  for (let round = 0; round < rounds; round++) {
    for (const contender of orderOfRound(contenders, round)) {
      progress.step(`${what}: round ${round + 1} of ${rounds}, ${contender.name}`);
      measured.get(contender.name)?.push(await contender.measure());
    }
  }
  return measured;
}

/** One number of each measurement of one contender. @throws Error when there is no such contender. */
export function series<Measurement>(
  measured: Measurements<Measurement>,
  contender: string,
  pick: (measurement: Measurement) => number,
): number[] {
  const measurements = measured.get(contender);
  if (measurements === undefined) throw new Error(`${contender} was not measured`);
  return measurements.map(pick);
}
