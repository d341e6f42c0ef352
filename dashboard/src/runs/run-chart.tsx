// The lines of a run over time, by severity. Drag for a range, click for a moment.

import { useEffect, useState } from 'preact/hooks';
import { useWidth } from '../model/width.js';
import { BarsView, countsText, sumOf } from '../range/bars-view.js';
import type { Counts } from '../range/histogram.js';
import { t } from '../texts/text.js';
import type { OpenRun } from './open-runs.js';
import { BAR_COLUMNS } from './recording.js';
import { showInRun } from './run-address.js';
import { barsFor, sinceText } from './run-time.js';
import type { Selection } from './use-selection.js';

/** Least width of a bar, in px, and bars at most. */
const BAR = { px: 7, most: 200 };

interface Props {
  run: OpenRun;
  selection: Selection;
  /** Of the axis, in ms. */
  lengthMs: number;
  atMs: number | undefined;
}

export function RunChart({ run, selection, lengthMs, atMs }: Props) {
  const most = Math.max(20, Math.min(BAR.most, Math.floor(useWidth() / BAR.px)));
  const { stepMs, count } = barsFor(lengthMs, most);
  const [bars, setBars] = useState<Counts[]>([]);
  useEffect(() => {
    let isGone = false;
    run.link.ask('bars', [0, stepMs, count]).then(
      (numbers) => !isGone && setBars(countsIn(numbers)),
      // The log says what is wrong.
      () => {},
    );
    return () => {
      isGone = true;
    };
  }, [run.link, selection.count, selection.isDone, stepMs, count]);
  const shown = Array.from({ length: count }, (_, bar) => bars[bar]);
  const begin = (bar: number): number => bar * stepMs;
  const all = countsText(sumOf(shown, 0, count - 1));
  return (
    <BarsView
      name={t('runs.linesOverTime', { name: run.name })}
      counts={shown}
      textOf={(first, last) =>
        t('range.counts', {
          from: sinceText(begin(first)),
          to: sinceText(begin(last + 1)),
          counts: countsText(sumOf(shown, first, last)),
        })
      }
      ends={[sinceText(0), sinceText(begin(count))]}
      said={selection.isDone ? all : t('runs.soFar', { counts: all })}
      moment={atMs === undefined ? undefined : Math.min(1, atMs / begin(count))}
      onRange={(first, last) =>
        showInRun({ afterMs: begin(first), beforeMs: begin(last + 1), atMs: undefined })
      }
      onMoment={(bar) => showInRun({ atMs: begin(bar) })}
    />
  );
}

function countsIn(numbers: readonly number[]): Counts[] {
  return Array.from({ length: numbers.length / BAR_COLUMNS }, (_, bar) => {
    const at = (column: number): number => numbers[bar * BAR_COLUMNS + column] ?? 0;
    // In the order of LEVELS.
    return { info: at(0), warn: at(1), error: at(2), state: at(3) };
  });
}
