// The order in which contenders are measured.

import type { Progress } from './progress.js';

/** A compared subject: the service, a control, or the same control again. */
export interface Contender<Measurement> {
  name: string;
  /** Warm-up, not measured. */
  warmUp(): Promise<void>;
  /** One measurement. @throws Error if the responses were wrong. */
  measure(): Promise<Measurement>;
}

/** @param measure lasts as long as it is told, in s: for a warm-up, and for a measurement. */
export function timedContender<Measurement>(
  name: string,
  { seconds, warmUpSeconds }: { seconds: number; warmUpSeconds: number },
  measure: (seconds: number) => Promise<Measurement>,
): Contender<Measurement> {
  return {
    name,
    warmUp: async () => void (await measure(warmUpSeconds)),
    measure: () => measure(seconds),
  };
}

/**
 * The order of one round: as given, then reversed (A B C, C B A, …), so that a machine that gets warmer or busier does not favour
 * one contender.
 */
export function orderOfRound<T>(items: readonly T[], round: number): T[] {
  return round % 2 === 0 ? [...items] : items.toReversed();
}

/** Measurements by contender, one per round. */
export type Measurements<Measurement> = ReadonlyMap<string, readonly Measurement[]>;

/** Warms up every contender, then measures each once per round, one at a time. */
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

/** One number of each measurement of a contender. @throws Error if there is no such contender. */
export function series<Measurement>(
  measured: Measurements<Measurement>,
  contender: string,
  pick: (measurement: Measurement) => number,
): number[] {
  const measurements = measured.get(contender);
  if (measurements === undefined) throw new Error(`${contender} was not measured`);
  return measurements.map(pick);
}
