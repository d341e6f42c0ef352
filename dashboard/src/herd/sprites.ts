// Runs in tabs. Owns the pictures of the cells, drawn once for a size and a theme: copying one is cheaper than filling its path.

import { SHAPES } from '../parts/tone.js';
import { type CellState, STATES } from './cells.js';
import { PULSE_STEPS, PULSES, type PulseKind } from './pulses.js';

/** Colours of a theme, as CSS has them. */
export interface Palette {
  states: Record<CellState, string>;
  /** Behind a cell. */
  grounds: Partial<Record<CellState, string>>;
  /** Of a pulse, by {@link PULSES}. */
  pulses: Record<PulseKind, string>;
  selected: string;
  selectedGround: string;
  text: string;
  muted: string;
  line: string;
  font: string;
}

/** A ring with a bar. */
const HELD_SHAPE = 'M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11zM4.6 8h6.8';
/** A question mark. */
const UNKNOWN_SHAPE = 'M5 6a3 3 0 1 1 4.2 2.7c-.8.4-1.2.9-1.2 1.8M8 12.9v.2';
/** An arrow back. */
const BACK_SHAPE = 'M13 12V9a3 3 0 0 0-3-3H3.5M6.5 3L3.5 6l3 3';
/** How much of its cell each shape fills: trouble is larger. */
const SCALES: Record<CellState, number> = {
  held: 1.1,
  bad: 1.14,
  wait: 1.1,
  busy: 1,
  good: 1,
  off: 0.96,
  unknown: 1,
  back: 1,
};
const STROKES: Partial<Record<CellState, number>> = {
  held: 2.2,
  busy: 2.5,
  off: 2,
  unknown: 2,
  back: 2.2,
};

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    states: {
      held: colour('bad'),
      bad: colour('bad'),
      wait: colour('herd-wait'),
      busy: colour('herd-busy'),
      good: colour('herd-good'),
      off: colour('herd-off'),
      unknown: colour('herd-off'),
      back: colour('herd-wait'),
    },
    grounds: { held: colour('bad-soft'), bad: colour('bad-soft'), wait: colour('wait-soft') },
    pulses: {
      info: colour('herd-pulse'),
      state: colour('level-state'),
      warn: colour('level-warn'),
      error: colour('level-error'),
    },
    selected: colour('accent'),
    selectedGround: colour('accent-soft'),
    text: colour('text'),
    muted: colour('muted'),
    line: colour('line'),
    font: style.fontFamily,
  };
}

export function shapeOf(state: CellState): string {
  if (state === 'held') return HELD_SHAPE;
  if (state === 'back') return BACK_SHAPE;
  return state === 'unknown' ? UNKNOWN_SHAPE : SHAPES[state];
}

/** Draws the shape of a state into a square at x, y. */
export function drawShape(
  context: CanvasRenderingContext2D,
  state: CellState,
  x: number,
  y: number,
  side: number,
  palette: Palette,
): void {
  const scale = (side / 16) * SCALES[state];
  const shape = new Path2D(shapeOf(state));
  context.save();
  context.translate(x + side / 2, y + side / 2);
  context.scale(scale, scale);
  context.translate(-8, -8);
  const stroke = STROKES[state];
  if (stroke === undefined) {
    context.fillStyle = palette.states[state];
    context.fill(shape);
  } else {
    context.strokeStyle = palette.states[state];
    context.lineWidth = stroke;
    context.lineJoin = 'round';
    context.stroke(shape);
  }
  context.restore();
}

/** One canvas with all pictures of a size in a row: the states, then the pulses. */
export class Sprites {
  readonly #canvas: HTMLCanvasElement;
  /** In px of the canvas. */
  readonly #side: number;

  /** @param side in CSS px. @param ratio px of the canvas for each. */
  constructor(side: number, ratio: number, palette: Palette) {
    this.#side = Math.round(side * ratio);
    this.#canvas = document.createElement('canvas');
    this.#canvas.width = this.#side * (STATES.length + PULSES.length * PULSE_STEPS);
    this.#canvas.height = this.#side;
    const context = this.#canvas.getContext('2d');
    if (!context) return;
    for (const [at, state] of STATES.entries()) {
      const ground = palette.grounds[state];
      if (ground !== undefined) this.#tile(context, at, ground, 1);
      drawShape(context, state, at * this.#side, 0, this.#side, palette);
    }
    for (const [at, kind] of PULSES.entries()) {
      for (let step = 0; step < PULSE_STEPS; step++) {
        // Fast at first, then slower, as a light goes out.
        const rest = (1 - step / PULSE_STEPS) ** 1.6;
        const place = STATES.length + at * PULSE_STEPS + step;
        this.#tile(context, place, palette.pulses[kind], 0.85 * rest);
      }
    }
  }

  /** Draws a cell. The context's unit is a CSS px. */
  cell(context: CanvasRenderingContext2D, state: CellState, x: number, y: number, side: number) {
    this.#copy(context, STATES.indexOf(state), x, y, side);
  }

  pulse(
    context: CanvasRenderingContext2D,
    kind: number,
    step: number,
    x: number,
    y: number,
    side: number,
  ): void {
    this.#copy(context, STATES.length + kind * PULSE_STEPS + step, x, y, side);
  }

  #copy(context: CanvasRenderingContext2D, place: number, x: number, y: number, side: number) {
    const own = this.#side;
    context.drawImage(this.#canvas, place * own, 0, own, own, x, y, side, side);
  }

  #tile(context: CanvasRenderingContext2D, place: number, colour: string, alpha: number): void {
    const side = this.#side;
    // In a small cell the shape leaves little room around it.
    const margin = side < 16 ? 0 : side * 0.04;
    context.globalAlpha = alpha;
    context.fillStyle = colour;
    context.beginPath();
    const inner = side - 2 * margin;
    context.roundRect(place * side + margin, margin, inner, inner, side * 0.24);
    context.fill();
    context.globalAlpha = 1;
  }
}
