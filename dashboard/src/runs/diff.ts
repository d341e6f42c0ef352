// What differs between two runs. Pure.

import type { Result, RunExpectation, RunFacts } from './run-facts.js';

/** When it happened in each run, in ms since its start; undefined where it did not, or the run does not say. */
export interface Moments {
  a: number | undefined;
  b: number | undefined;
}

/** A value of each run. */
export interface Pair<T> {
  a: T;
  b: T;
}

export interface ExpectationDiff extends Moments {
  name: string;
  suite: string;
  /** `missing`: the report does not have it. */
  result: { a: Result | 'missing'; b: Result | 'missing' };
  message: Pair<string>;
}

export interface CauseDiff extends Moments {
  type: 'failure' | 'error line';
  title: string;
  count: Pair<number>;
}

export interface BotDiff extends Moments {
  id: string;
  /** At the end of the run; undefined where the bot was not. */
  status: Pair<string | undefined>;
}

export interface LevelDiff {
  level: string;
  count: Pair<number>;
}

export interface RunDiff {
  /** Undefined when one of the runs has no report. */
  expectations: ExpectationDiff[] | undefined;
  /** The rest is undefined when one of the runs has no recording. */
  causes: CauseDiff[] | undefined;
  /** That are in one run only, or end with another status. */
  bots: BotDiff[] | undefined;
  levels: LevelDiff[] | undefined;
}

/** Causes in one run only come first, then those whose count changed most. */
export function diffOf(a: RunFacts, b: RunFacts): RunDiff {
  const [one, other] = [a.recording, b.recording];
  return {
    expectations:
      a.expectations && b.expectations && expectationsOf(a.expectations, b.expectations),
    causes: one && other && causesOf(one.causes, other.causes),
    bots: one && other && botsOf(one.bots, other.bots),
    levels:
      one &&
      other &&
      (['error', 'warn', 'state', 'info'] as const).map((level) => ({
        level,
        count: { a: one.levels[level], b: other.levels[level] },
      })),
  };
}

export function isEmpty({ expectations, causes, bots, levels }: RunDiff): boolean {
  return (
    [expectations, causes, bots].every((list) => (list?.length ?? 0) === 0) &&
    (levels ?? []).every(({ count }) => count.a === count.b)
  );
}

/** The same name in the same place of the report: a suite may have a name several times. */
function numbered(
  list: readonly RunExpectation[],
  withSuite: boolean,
): Map<string, RunExpectation> {
  const counts = new Map<string, number>();
  const found = new Map<string, RunExpectation>();
  for (const one of list) {
    const key = JSON.stringify(withSuite ? [one.suite, one.name] : [one.name]);
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    found.set(`${key} ${count}`, one);
  }
  return found;
}

function expectationsOf(
  a: readonly RunExpectation[],
  b: readonly RunExpectation[],
): ExpectationDiff[] {
  // A suite of drover check is named after its recording, which differs: one suite is compared with the one of the other.
  const suites = (list: readonly RunExpectation[]): number =>
    new Set(list.map(({ suite }) => suite)).size;
  const withSuite = suites(a) > 1 || suites(b) > 1;
  const [ofA, ofB] = [numbered(a, withSuite), numbered(b, withSuite)];
  return keysOf(ofA, ofB).flatMap((key): ExpectationDiff[] => {
    const [one, other] = [ofA.get(key), ofB.get(key)];
    if (one?.result === other?.result) return [];
    const known = one ?? other;
    return [
      {
        name: known?.name ?? '',
        suite: known?.suite ?? '',
        result: { a: one?.result ?? 'missing', b: other?.result ?? 'missing' },
        message: { a: one?.message ?? '', b: other?.message ?? '' },
        a: one?.afterMs ?? undefined,
        b: other?.afterMs ?? undefined,
      },
    ];
  });
}

type Causes = NonNullable<RunFacts['recording']>['causes'];

function causesOf(a: Causes, b: Causes): CauseDiff[] {
  const keyed = (list: Causes) => new Map(list.map((one) => [`${one.type} ${one.cause}`, one]));
  const [ofA, ofB] = [keyed(a), keyed(b)];
  return keysOf(ofA, ofB)
    .flatMap((key): CauseDiff[] => {
      const [one, other] = [ofA.get(key), ofB.get(key)];
      const known = one ?? other;
      if (!known || one?.count === other?.count) return [];
      const count = { a: one?.count ?? 0, b: other?.count ?? 0 };
      return [{ type: known.type, title: known.title, count, a: one?.firstMs, b: other?.firstMs }];
    })
    .sort(
      (x, y) =>
        Number(isInBoth(x)) - Number(isInBoth(y)) ||
        Math.abs(y.count.a - y.count.b) - Math.abs(x.count.a - x.count.b),
    );
}

function isInBoth({ count }: CauseDiff): boolean {
  return count.a > 0 && count.b > 0;
}

type Bots = NonNullable<RunFacts['recording']>['bots'];

function botsOf(a: Bots, b: Bots): BotDiff[] {
  const keyed = (list: Bots) => new Map(list.map((bot) => [bot.id, bot]));
  const [ofA, ofB] = [keyed(a), keyed(b)];
  return keysOf(ofA, ofB).flatMap((id): BotDiff[] => {
    const [one, other] = [ofA.get(id), ofB.get(id)];
    if (one?.status === other?.status) return [];
    const isInOne = !one || !other;
    return [
      {
        id,
        status: { a: one?.status, b: other?.status },
        a: isInOne ? one?.firstMs : one.statusMs,
        b: isInOne ? other?.firstMs : other.statusMs,
      },
    ];
  });
}

/** Of both, in the order of the first one. */
function keysOf<T>(a: ReadonlyMap<string, T>, b: ReadonlyMap<string, T>): string[] {
  return [...new Set([...a.keys(), ...b.keys()])];
}
