// Runs in tabs. What a page about runs shows, in its address: `#/runs/<name>?q=&after=&before=&at=&show=`. Times are in ms since
// the start of the run, so that they mean the same in two runs.

import { changeQuery, hrefTo, route } from '../model/route.js';

export const PARTS = ['log', 'herd', 'causes', 'expectations'] as const;
export type RunPart = (typeof PARTS)[number];

export interface RunAddress {
  /** Empty: the list of runs. */
  name: string;
  query: string;
  afterMs: number | undefined;
  beforeMs: number | undefined;
  atMs: number | undefined;
  /** Undefined: what the run has. */
  part: RunPart | undefined;
}

export function runAddress(): RunAddress {
  const { part: name, query } = route.value;
  const time = (parameter: string): number | undefined => {
    const text = query.get(parameter) ?? '';
    return /^\d{1,13}$/.test(text) ? Number(text) : undefined;
  };
  const part = PARTS.find((one) => one === query.get('show'));
  return {
    name,
    query: query.get('q') ?? '',
    afterMs: time('after'),
    beforeMs: time('before'),
    atMs: time('at'),
    part,
  };
}

type Changes = Partial<Omit<RunAddress, 'name'>>;

/** Changes what is shown. A value that is undefined is removed. */
export function showInRun(changes: Changes): void {
  const names = { query: 'q', afterMs: 'after', beforeMs: 'before', atMs: 'at', part: 'show' };
  const pairs = Object.entries(changes).map(([name, value]) => [
    names[name as keyof Changes],
    value === undefined ? '' : String(typeof value === 'number' ? Math.round(value) : value),
  ]);
  changeQuery(Object.fromEntries(pairs));
}

export function hrefOfRun(name: string): string {
  return hrefTo('runs', name);
}
