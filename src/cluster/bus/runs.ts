// Pure. Where frames of a node's own stream are in the stream of the cluster: runs of frames that follow each other in both.

/** `count` frames, from `own` on in the node's own numbering, and from `number` on in that of the cluster. */
export interface Run {
  own: number;
  number: number;
  count: number;
}

/** A number of the cluster's stream, and its epoch. */
export interface StreamPosition {
  epoch: string;
  number: number;
}

/** Runs in one numbering of the cluster, ascending in both numberings. */
export interface RunList {
  /** Epoch of the cluster's stream. */
  epoch: string;
  /** Sequence of a message of the stream: the runs of all messages up to it are known. */
  seq: number;
  runs: readonly Run[];
}

/** What a stored list covers: `own` to before `ownEnd`, `number` to before `numberEnd`. */
export interface Extent extends Omit<RunList, 'runs'> {
  own: number;
  ownEnd: number;
  number: number;
  numberEnd: number;
}

/** @param list is not empty. */
export function extentOf({ epoch, seq, runs }: RunList): Extent {
  const first = runs[0] as Run;
  const last = runs.at(-1) as Run;
  return {
    epoch,
    seq,
    own: first.own,
    ownEnd: last.own + last.count,
    number: first.number,
    numberEnd: last.number + last.count,
  };
}

/** Adds a run behind the others, as a part of the last one when it follows it. */
export function addRun(runs: Run[], { own, number, count }: Run): void {
  const last = runs.at(-1);
  const follows = last && last.own + last.count === own && last.number + last.count === number;
  if (follows) last.count += count;
  else runs.push({ own, number, count });
}

/** Index of the last item from `from` to before `to` whose key is at most `key`; `from - 1` when there is none. Keys ascend. */
export function lastUpTo<T>(
  items: readonly T[],
  key: number,
  keyOf: (item: T) => number,
  from = 0,
  to = items.length,
): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keyOf(items[middle] as T) <= key) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * A line of the file: what it covers first, so that the runs need not be parsed for that. Of each run the frames that are left out
 * before it in both numberings, and its length.
 */
export function writeLine(list: RunList): string {
  const { epoch, seq, own, ownEnd, number, numberEnd } = extentOf(list);
  const gaps: number[] = [];
  let before = { own, number };
  for (const run of list.runs) {
    gaps.push(run.own - before.own, run.number - before.number, run.count);
    before = { own: run.own + run.count, number: run.number + run.count };
  }
  return `${JSON.stringify([epoch, seq, own, ownEnd, number, numberEnd])} ${JSON.stringify(gaps)}\n`;
}

/** @returns null for what is not a line, such as one that was cut by a crash. */
export function readExtent(line: string): Extent | null {
  const values = parse(line.slice(0, line.indexOf(' ')));
  if (!values || typeof values[0] !== 'string') return null;
  const [epoch, ...numbers] = values;
  if (numbers.length !== 5 || !numbers.every((one) => Number.isSafeInteger(one))) return null;
  const [seq, own, ownEnd, number, numberEnd] = numbers as [number, number, number, number, number];
  return { epoch, seq, own, ownEnd, number, numberEnd };
}

/** @returns null for what is not a line. */
export function readLine(line: string): RunList | null {
  const extent = readExtent(line);
  const gaps = parse(line.slice(line.indexOf(' ') + 1));
  if (!extent || !gaps || gaps.length % 3 !== 0) return null;
  const runs: Run[] = [];
  let { own, number } = extent;
  for (let at = 0; at < gaps.length; at += 3) {
    const [ownGap, numberGap, count] = gaps.slice(at, at + 3) as [number, number, number];
    runs.push({ own: own + ownGap, number: number + numberGap, count });
    own += ownGap + count;
    number += numberGap + count;
  }
  if (own !== extent.ownEnd || number !== extent.numberEnd) return null;
  return { epoch: extent.epoch, seq: extent.seq, runs };
}

function parse(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
