import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { settings, theme } from '../model/settings.js';
import { short } from './short.js';
import { TIME_LABELS } from './time-axis.js';

/** Enough for every step of an axis: 1, 2, 2.5 or 5 times a power of ten. */
const AXIS_DECIMALS = 3;

export interface ChartSeries {
  name: string;
  /** CSS custom property of the colour, without the dashes. */
  colour: string;
  values: readonly number[];
}

interface Props {
  /** Unix epoch s. */
  times: readonly number[];
  /** Stacked from the bottom. */
  series: readonly ChartSeries[];
  height: number;
  /** Text alternative. */
  label: string;
  /** Called with the index under the pointer; undefined when the pointer leaves the chart. */
  onPoint?: (index: number | undefined) => void;
  /** Called with times in Unix epoch s: of a click twice the same, of a drag both ends. */
  onPick?: (from: number, to: number) => void;
  /** A time to mark, in Unix epoch s. */
  mark?: number | undefined;
}

export function StackedChart({ times, series, height, label, onPoint, onPick, mark }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const point = useRef(onPoint);
  point.current = onPoint;
  const pick = useRef(onPick);
  pick.current = onPick;
  const marked = useRef(mark);
  marked.current = mark;
  const { zone } = settings.value;
  const look = theme.value;
  const names = series.map(({ name }) => name).join();

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    chart.current = new uPlot(
      optionsFor(element, series, height, zone, {
        point: (index) => point.current?.(index),
        pick: onPick && ((from, to) => pick.current?.(from, to)),
        mark: () => marked.current,
      }),
      stacked(times, series),
      element,
    );
    const observer = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (width > 0 && width !== chart.current?.width) chart.current?.setSize({ width, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [look, zone, names, height]);

  useEffect(() => {
    chart.current?.setData(stacked(times, series));
  });

  return (
    <div ref={box} class="chart" role="img" aria-label={label} style={{ height: `${height}px` }} />
  );
}

/** Cumulative sums, the highest first: the lower ones are drawn over it. */
function stacked(times: readonly number[], series: readonly ChartSeries[]): uPlot.AlignedData {
  const sums: number[][] = [];
  let below: number[] = times.map(() => 0);
  for (const { values } of series) {
    below = below.map((value, at) => value + (values[at] ?? 0));
    sums.push(below);
  }
  return [times as number[], ...sums.reverse()] as uPlot.AlignedData;
}

interface Hooks {
  point: (index: number | undefined) => void;
  pick: ((from: number, to: number) => void) | undefined;
  mark: () => number | undefined;
}

function optionsFor(
  element: HTMLElement,
  series: readonly ChartSeries[],
  height: number,
  zone: string,
  { point, pick, mark }: Hooks,
): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  // Relative to the font size, which is larger on a wall display.
  const em = Number.parseFloat(style.fontSize);
  const axis: uPlot.Axis = {
    stroke: colour('muted'),
    font: `${Math.round(em * 0.8)}px ${style.fontFamily}`,
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: Math.max(200, element.clientWidth),
    height,
    legend: { show: false },
    padding: [8, em * 1.9, 0, 0],
    cursor: { points: { show: false }, drag: { x: pick !== undefined, y: false, setScale: false } },
    tzDate: (seconds) =>
      zone === '' ? new Date(seconds * 1000) : uPlot.tzDate(new Date(seconds * 1000), zone),
    scales: { y: { range: (_, __, most) => [0, Math.max(5, most * 1.1)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: em * 1.7,
        space: em * 5,
        values: TIME_LABELS,
      },
      {
        ...axis,
        size: em * 3.2,
        space: em * 2.3,
        values: (_, splits) => splits.map((value) => short(value, AXIS_DECIMALS)),
      },
    ],
    series: [
      {},
      ...series.toReversed().map(({ name, colour: of }) => ({
        label: name,
        fill: colour(of),
        width: 0,
        points: { show: false },
        ...(stepped ? { paths: stepped } : {}),
      })),
    ],
    hooks: {
      setCursor: [({ cursor }) => point(cursor.idx ?? undefined)],
      ready: [(chart) => pick && takePicks(chart, pick)],
      draw: [(chart) => drawMark(chart, mark(), colour('accent'))],
    },
  };
}

/** A shorter movement of the pointer is a click, in px. */
const CLICK_PX = 4;

function takePicks(chart: uPlot, pick: (from: number, to: number) => void): void {
  const { over } = chart;
  let dragStart: number | undefined;
  over.addEventListener('pointerdown', ({ button, offsetX, pointerId }) => {
    dragStart = undefined;
    if (button !== 0) return;
    dragStart = offsetX;
    // A drag may end outside, also because the page moves the chart.
    over.setPointerCapture(pointerId);
  });
  over.addEventListener('pointerup', ({ offsetX }) => {
    if (dragStart === undefined) return;
    const isClick = Math.abs(offsetX - dragStart) < CLICK_PX;
    const end = Math.min(over.clientWidth, Math.max(0, offsetX));
    const [one, other] = [chart.posToVal(dragStart, 'x'), chart.posToVal(end, 'x')];
    dragStart = undefined;
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    pick(isClick ? other : Math.min(one, other), isClick ? other : Math.max(one, other));
  });
}

function drawMark(chart: uPlot, time: number | undefined, colour: string): void {
  const { min, max } = chart.scales['x'] ?? {};
  if (time === undefined || min == null || max == null || time < min || time > max) return;
  const { ctx, bbox } = chart;
  const x = chart.valToPos(time, 'x', true);
  ctx.save();
  ctx.fillStyle = colour;
  ctx.fillRect(x - 1, bbox.top, 2, bbox.height);
  ctx.restore();
}
