// Runs in tabs. Connects the scene of the herd with what it shows: bots, hosts, lines, theme, selection.

import { effect } from '@preact/signals';
import type { RefObject } from 'preact';
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { lines, linesEpoch, linesVersion } from '../model/live.js';
import { settings, theme } from '../model/settings.js';
import { table } from '../model/table.js';
import { useThrottled } from '../model/throttle.js';
import { Cells } from './cells.js';
import { type Layout, layOut } from './layout.js';
import { PULSES } from './pulses.js';
import { Scene } from './scene.js';
import { Source } from './source.js';
import { readPalette } from './sprites.js';
import { herdView } from './view.js';

const UPDATE_MS = 100;
/** Height of the herd, as a share of the window's, with which cells are as large as they can be; and at least, in px. */
const HEIGHT = { share: 0.5, least: 260 };
/** The size of text for which sizes are given, in px. */
const TEXT_PX = 14;
/** Lines of an update that pulse: more would make no visible difference. */
const MAX_LINES = 3000;

const KIND_OF: Readonly<Record<string, number>> = Object.fromEntries(
  PULSES.map((kind, at) => [kind, at]),
);

export interface HerdScene {
  scene: Scene;
  cells: Cells;
  layout: Layout;
  isLit: (index: number) => boolean;
}

interface SceneElements {
  box: RefObject<HTMLDivElement | null>;
  pulses: RefObject<HTMLCanvasElement | null>;
  cells: RefObject<HTMLCanvasElement | null>;
  marks: RefObject<HTMLCanvasElement | null>;
}

/** Draws the herd into the canvases, and keeps it current. Undefined until it is drawn. */
export function useScene(elements: SceneElements): HerdScene | undefined {
  const scene = useRef<Scene | undefined>(undefined);
  const cells = useRef(new Cells());
  const drawn = useRef<{ look: string; layout: Layout } | undefined>(undefined);
  const [shown, setShown] = useState<HerdScene>();
  const [width, setWidth] = useState(0);
  const source = useContext(Source);
  const version = useThrottled(source.version, UPDATE_MS);
  const { lit } = herdView.value;
  const by = source.by ?? herdView.value.by;
  const held = source.held.value;
  const isLit = (index: number): boolean =>
    lit.size === 0 || lit.has(cells.current.statuses[index] ?? '');

  useLayoutEffect(() => {
    const { box } = elements;
    const [pulses, cellCanvas, marks] = [elements.pulses, elements.cells, elements.marks];
    if (!box.current || !pulses.current || !cellCanvas.current || !marks.current) return;
    const own = new Scene({
      pulses: pulses.current,
      cells: cellCanvas.current,
      marks: marks.current,
    });
    scene.current = own;
    const stillness = matchMedia('(prefers-reduced-motion: reduce)');
    const setStill = (): void => {
      own.isStill = stillness.matches;
    };
    setStill();
    stillness.addEventListener('change', setStill);
    const element = box.current;
    const resized = new ResizeObserver(() => setWidth(element.clientWidth));
    resized.observe(element);
    setWidth(element.clientWidth);
    const seen = new IntersectionObserver((entries) => {
      own.isSeen = entries.at(-1)?.isIntersecting ?? true;
    });
    seen.observe(element);
    return () => {
      stillness.removeEventListener('change', setStill);
      resized.disconnect();
      seen.disconnect();
      own.close();
      scene.current = undefined;
      drawn.current = undefined;
    };
  }, []);

  useLayoutEffect(() => {
    const [own, element] = [scene.current, elements.box.current];
    if (!own || !element || width === 0) return;
    const change = cells.current.update(source.bots(), by, held);
    const text = Number.parseFloat(getComputedStyle(element).fontSize);
    const budget = Math.round(Math.max(HEIGHT.least, window.innerHeight * HEIGHT.share));
    const look = [width, text, budget, theme.value, [...lit].join()].join();
    const before = drawn.current;
    if (before?.look === look && change === 'nothing') return;
    if (before?.look === look && change !== 'order') {
      own.change(change as readonly number[]);
      // The titles count failed bots.
      setShown((of) => of && { ...of });
      return;
    }
    const layout = layOut(cells.current.groups, width, budget, text / TEXT_PX);
    drawn.current = { look, layout };
    own.show({
      cells: cells.current,
      layout,
      width,
      palette: readPalette(element),
      isLit,
      isSelected: (id) => table.peek().selected.has(id),
    });
    setShown({ scene: own, cells: cells.current, layout, isLit });
  }, [version, by, lit, held, width, theme.value, settings.value.density]);

  useEffect(
    () =>
      effect(() => {
        void table.value.selected;
        scene.current?.mark();
      }),
    [],
  );

  useEffect(() => {
    let last = lines.at(-1)?.n ?? 0;
    let epoch = linesEpoch.peek();
    return effect(() => {
      void linesVersion.value;
      const newest = lines.at(-1)?.n ?? 0;
      // The numbers of another hub start again.
      if (linesEpoch.value !== epoch) last = newest;
      epoch = linesEpoch.value;
      const own = scene.current;
      const now = performance.now();
      for (let at = Math.max(0, lines.length - MAX_LINES); at < lines.length; at++) {
        const line = lines[at];
        if (
          !own ||
          !line ||
          source.moment.peek() !== undefined ||
          line.n <= last ||
          line.bot === null
        )
          continue;
        const index = cells.current.indexOf(line.bot);
        if (index !== undefined) own.pulse(index, KIND_OF[line.level] ?? 0, now);
      }
      last = newest;
      own?.run();
    });
  }, []);

  return shown;
}
