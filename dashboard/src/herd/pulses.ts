// Runs in tabs. Owns the pulses of the cells and their progress. The caller passes the time.

/** What a pulse is about: the level of a line. */
export const PULSES = ['info', 'state', 'warn', 'error'] as const;
export type PulseKind = (typeof PULSES)[number];

/** Pictures of a pulse, from bright to invisible. */
export const PULSE_STEPS = 14;

/** How long a pulse is seen, in ms. */
const PULSE_MS = 630;
const STEP_MS = PULSE_MS / PULSE_STEPS;
/** Without motion: how long a cell stays lit after its last line, in ms, and in which picture. */
const STILL_MS = 3000;
const STILL_STEP = 4;
const NONE = 255;

/** Called for a cell whose picture has changed; `step` is undefined when its pulse is over. */
export type PulseDrawer = (index: number, kind: number, step: number | undefined) => void;

export class Pulses {
  #startedAt = new Float64Array(0);
  #kinds = new Uint8Array(0);
  /** The picture that is drawn of each cell; NONE for a cell that does not pulse, or whose pulse is not drawn yet. */
  #steps = new Uint8Array(0);
  #isActive = new Uint8Array(0);
  #active: number[] = [];
  /** The user wants no motion: a cell with traffic is lit for a while, and does not fade. */
  isStill = false;

  /** Forgets all pulses, for other cells. */
  reset(count: number): void {
    this.#startedAt = new Float64Array(count);
    this.#kinds = new Uint8Array(count);
    this.#steps = new Uint8Array(count).fill(NONE);
    this.#isActive = new Uint8Array(count);
    this.#active = [];
  }

  get isAny(): boolean {
    return this.#active.length > 0;
  }

  /** A cell has traffic. A worse level is not hidden by a later, lesser one. @param now of performance.now(). */
  hit(index: number, kind: number, now: number): void {
    if (index >= this.#startedAt.length) return;
    if (this.#isActive[index] === 0) {
      this.#isActive[index] = 1;
      this.#active.push(index);
    } else if ((this.#kinds[index] ?? 0) > kind) {
      return;
    }
    if (this.#kinds[index] !== kind) this.#steps[index] = NONE;
    this.#kinds[index] = kind;
    this.#startedAt[index] = now;
  }

  /** Draws what has changed since the last call. */
  draw(now: number, drawer: PulseDrawer): void {
    const lasting: number[] = [];
    const lastsMs = this.isStill ? STILL_MS : PULSE_MS;
    for (const index of this.#active) {
      const age = Math.max(0, now - (this.#startedAt[index] ?? 0));
      const kind = this.#kinds[index] ?? 0;
      if (age >= lastsMs) {
        this.#isActive[index] = 0;
        this.#steps[index] = NONE;
        drawer(index, kind, undefined);
        continue;
      }
      lasting.push(index);
      const step = this.isStill ? STILL_STEP : Math.floor(age / STEP_MS);
      if (this.#steps[index] === step) continue;
      this.#steps[index] = step;
      drawer(index, kind, step);
    }
    this.#active = lasting;
  }
}
