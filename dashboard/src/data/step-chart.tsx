import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { settings, theme } from '../model/settings.js';
import { short } from '../parts/short.js';
import { TIME_LABELS } from '../parts/time-axis.js';
import type { Row } from './series.js';

const HEIGHT = 220;
const AXIS_DECIMALS = 3;

interface Props {
  rows: readonly Row[];
  /** Unix epoch ms. */
  from: number;
  to: number;
  /** Text alternative. */
  label: string;
}

/** A number over time: what it was, and the band between the lowest and the highest of each part. */
export function StepChart({ rows, from, to, label }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const range = useRef({ from, to });
  range.current = { from, to };
  const { zone } = settings.value;
  const look = theme.value;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(
      optionsFor(element, zone, () => range.current),
      dataOf(rows),
      element,
    );
    chart.current = made;
    const observer = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (width > 0 && width !== made.width) made.setSize({ width, height: HEIGHT });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      chart.current = undefined;
    };
  }, [look, zone]);
  useEffect(() => {
    chart.current?.setData(dataOf(rows));
  });
  return (
    <div ref={box} class="chart" role="img" aria-label={label} style={{ height: `${HEIGHT}px` }} />
  );
}

/** In Unix epoch s. */
function dataOf(rows: readonly Row[]): uPlot.AlignedData {
  return [
    rows.map(({ at }) => at / 1000),
    rows.map(({ max }) => max),
    rows.map(({ min }) => min),
    rows.map(({ value }) => value),
  ];
}

function optionsFor(
  element: HTMLElement,
  zone: string,
  range: () => { from: number; to: number },
): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const em = Number.parseFloat(style.fontSize);
  const stepped = (align: 1 | -1): Partial<uPlot.Series> => {
    const paths = uPlot.paths.stepped?.({ align });
    return paths ? { paths } : {};
  };
  const axis: uPlot.Axis = {
    stroke: colour('muted'),
    font: `${Math.round(em * 0.8)}px ${style.fontFamily}`,
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  };
  const edge = { width: 0, points: { show: false }, ...stepped(-1) };
  return {
    width: Math.max(200, element.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    padding: [8, em * 1.9, 0, 0],
    cursor: { drag: { x: false, y: false } },
    tzDate: (seconds) =>
      zone === '' ? new Date(seconds * 1000) : uPlot.tzDate(new Date(seconds * 1000), zone),
    scales: { x: { range: () => [range().from / 1000, range().to / 1000] } },
    bands: [{ series: [1, 2], fill: colour('accent-soft') }],
    axes: [
      { ...axis, grid: { show: false }, size: em * 1.7, space: em * 5, values: TIME_LABELS },
      {
        ...axis,
        size: em * 4,
        space: em * 2.3,
        values: (_, splits) => splits.map((value) => short(value, AXIS_DECIMALS)),
      },
    ],
    series: [
      {},
      { label: 'highest', ...edge },
      { label: 'lowest', ...edge },
      {
        label: 'value',
        stroke: colour('accent'),
        width: 1.5,
        points: { show: false },
        ...stepped(1),
      },
    ],
  };
}
