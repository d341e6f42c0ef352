// Runs in tabs. Owns the three canvases of the herd: pulses at the bottom, cells over them, marks of the selection on top. Each draws
// only the cells that have changed. Nothing is drawn while the herd is out of sight, and no frame is asked for while nothing pulses.

import { type CellState, type Cells, statusText } from './cells.js';
import { boxOf, type Layout } from './layout.js';
import { Pulses } from './pulses.js';
import { drawShape, type Palette, Sprites } from './sprites.js';

/** Pulses are drawn at most this often, in ms: 30 times a second is enough for a light that goes out. */
const PULSE_EVERY_MS = 30;
/** Without motion. */
const STILL_EVERY_MS = 1000;
/** Opacity of cells that the filter leaves out. */
const UNLIT = 0.2;
/** Pixels of a canvas; with more, its resolution is lower. A browser has a limit too, and there are three. */
const MAX_PIXELS = 8_000_000;

export interface SceneCanvases {
  pulses: HTMLCanvasElement;
  cells: HTMLCanvasElement;
  marks: HTMLCanvasElement;
}

/** What is drawn. */
export interface Picture {
  cells: Pick<Cells, 'ids' | 'states' | 'statuses'>;
  layout: Layout;
  width: number;
  palette: Palette;
  isLit: (index: number) => boolean;
  isSelected: (id: string) => boolean;
}

export class Scene {
  readonly #contexts: Record<keyof SceneCanvases, CanvasRenderingContext2D | null>;
  readonly #pulses = new Pulses();
  #picture: Picture | undefined;
  #sprites: Sprites | undefined;
  /** Which cells have a mark on the canvas. */
  #marked = new Uint8Array(0);
  #isSeen = true;
  #frame: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #drawnAt = 0;

  constructor(canvases: SceneCanvases) {
    this.#contexts = {
      pulses: canvases.pulses.getContext('2d'),
      cells: canvases.cells.getContext('2d'),
      marks: canvases.marks.getContext('2d'),
    };
  }

  close(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#isSeen = false;
  }

  set isStill(is: boolean) {
    this.#pulses.isStill = is;
  }

  /** Whether the herd is in the window. */
  set isSeen(is: boolean) {
    this.#isSeen = is;
    if (is) this.#askFrame();
  }

  /** Draws everything again. */
  show(picture: Picture): void {
    this.#picture = picture;
    const { layout, width, palette } = picture;
    const height = Math.max(1, layout.height);
    const ratio = Math.min(devicePixelRatio, Math.sqrt(MAX_PIXELS / (width * height)));
    for (const context of Object.values(this.#contexts)) {
      if (!context) continue;
      const { canvas } = context;
      // Also clears it.
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      context.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
    }
    this.#sprites = new Sprites(iconSide(layout), ratio, palette);
    this.#pulses.reset(layout.count);
    this.#marked = new Uint8Array(layout.count);
    for (let index = 0; index < layout.count; index++) this.#drawCell(index, true);
    this.mark();
  }

  /** These cells have changed. */
  change(indices: readonly number[]): void {
    for (const index of indices) this.#drawCell(index, false);
  }

  /** @param kind index in PULSES. */
  pulse(index: number, kind: number, now: number): void {
    if (!this.#isSeen) return;
    this.#pulses.hit(index, kind, now);
  }

  /** Called after pulses have started. */
  run(): void {
    this.#askFrame();
  }

  /** Draws and removes the marks of cells whose selection has changed. @param preview indices that are marked too. */
  mark(preview?: ReadonlySet<number>): void {
    const context = this.#contexts.marks;
    if (!context || !this.#picture) return;
    const { layout, cells, isSelected, palette } = this.#picture;
    for (let index = 0; index < layout.count; index++) {
      const is = preview?.has(index) || isSelected(cells.ids[index] ?? '') ? 1 : 0;
      if (this.#marked[index] === is) continue;
      this.#marked[index] = is;
      const { x, y, width, height } = boxOf(layout, index);
      context.clearRect(x, y, width, height);
      if (is === 0) continue;
      const { isCard } = layout.size;
      const edge = isCard ? 4 : 0.5;
      const stroke = width >= 18 ? 2 : 1.5;
      const inset = edge + stroke / 2;
      context.strokeStyle = palette.selected;
      context.lineWidth = stroke;
      context.beginPath();
      const radius = isCard ? 7 : width * 0.24;
      context.roundRect(x + inset, y + inset, width - 2 * inset, height - 2 * inset, radius);
      context.stroke();
      context.fillStyle = palette.selected;
      context.globalAlpha = 0.22;
      context.fill();
      context.globalAlpha = 1;
    }
  }

  #askFrame(): void {
    const isAsked = this.#frame !== undefined || this.#timer !== undefined;
    if (isAsked || !this.#isSeen || !this.#pulses.isAny) return;
    if (this.#pulses.isStill) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#drawPulses(performance.now());
        this.#askFrame();
      }, STILL_EVERY_MS);
      return;
    }
    this.#frame = requestAnimationFrame((now) => {
      this.#frame = undefined;
      if (now - this.#drawnAt >= PULSE_EVERY_MS) {
        this.#drawnAt = now;
        this.#drawPulses(now);
      }
      this.#askFrame();
    });
  }

  #drawPulses(now: number): void {
    const context = this.#contexts.pulses;
    const [picture, sprites] = [this.#picture, this.#sprites];
    if (!context || !picture || !sprites) return;
    const { layout, isLit } = picture;
    const { isCard } = layout.size;
    this.#pulses.draw(now, (index, kind, step) => {
      const { x, y, width, height } = boxOf(layout, index);
      context.clearRect(x, y, width, height);
      if (step === undefined || !isLit(index)) return;
      if (isCard) {
        const side = height - 8;
        sprites.pulse(
          context,
          kind,
          step,
          x + 4 + (side - side * 0.8) / 2,
          y + 4 + side * 0.1,
          side * 0.8,
        );
      } else sprites.pulse(context, kind, step, x, y, width);
    });
  }

  #drawCell(index: number, isEmpty: boolean): void {
    const context = this.#contexts.cells;
    const [picture, sprites] = [this.#picture, this.#sprites];
    if (!context || !picture || !sprites) return;
    const { layout, cells, isLit } = picture;
    const box = boxOf(layout, index);
    const { x, y, width, height } = box;
    if (!isEmpty) context.clearRect(x, y, width, height);
    const state = cells.states[index] ?? 'good';
    const isDim = !isLit(index);
    if (isDim) context.globalAlpha = UNLIT;
    if (layout.size.isCard) this.#drawCard(context, picture, index, state);
    else sprites.cell(context, state, x, y, width);
    if (isDim) context.globalAlpha = 1;
  }

  /** A cell with the id and the status. */
  #drawCard(
    context: CanvasRenderingContext2D,
    { layout, cells, palette }: Picture,
    index: number,
    state: CellState,
  ): void {
    const { x, y, width, height } = boxOf(layout, index);
    const [left, top, wide, high] = [x + 4, y + 4, width - 8, height - 8];
    context.beginPath();
    context.roundRect(left + 0.5, top + 0.5, wide - 1, high - 1, 7);
    const ground = palette.grounds[state];
    if (ground !== undefined) {
      context.fillStyle = ground;
      context.fill();
    }
    context.strokeStyle = ground === undefined ? palette.line : palette.states[state];
    context.lineWidth = 1;
    context.stroke();
    const icon = high * 0.42;
    drawShape(context, state, left + (high - icon) / 2, top + (high - icon) / 2, icon, palette);
    const text = Math.round(high * 0.34);
    const room = wide - high - 8;
    context.textBaseline = 'middle';
    context.fillStyle = palette.text;
    context.font = `600 ${text}px ${palette.font}`;
    context.fillText(fitted(context, cells.ids[index] ?? '', room), left + high, top + high * 0.31);
    context.fillStyle = ground === undefined ? palette.muted : palette.states[state];
    context.font = `${text - 1}px ${palette.font}`;
    context.fillText(
      fitted(context, statusText(cells.statuses[index] ?? ''), room),
      left + high,
      top + high * 0.7,
    );
  }
}

function iconSide({ size }: Layout): number {
  return size.isCard ? size.height - 8 : size.width;
}

/** The beginning of a text that fits. */
function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let [fits, not] = [0, text.length];
  while (not - fits > 1) {
    const middle = (fits + not) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) fits = middle;
    else not = middle;
  }
  return `${text.slice(0, fits)}…`;
}
