// Runs in control processes. Generates the same lines as the service's synthetic bot (workers/kinds/synthetic.ts), at the same
// times and with the same bytes.

import { sseFrame } from '../../src/shared/stream/frame.js';
import { positionComment, retryLine } from '../../src/shared/stream/stream-text.js';

/** Same format as the service's ids: ten hexadecimal digits, a dash, a number. */
const EPOCH = '0123456789';
const TICK_MS = 10;
const BURST = 2000;

/** One event before it becomes a frame. */
export interface Line {
  id: string;
  data: {
    timestamp_ms: number;
    level: 'info';
    scope: string;
    session_id: string | null;
    transport: null;
    direction: null;
    message: string;
  };
}

/** The start of a stream. */
export const OPENING = retryLine(2000, 0.5) + positionComment(EPOCH, 1);

/** A whole frame, by template like in the service. */
export function frameOf({ id, data }: Line): string {
  const session = data.session_id === null ? 'null' : `"${data.session_id}"`;
  const json =
    `{"timestamp_ms":${data.timestamp_ms},"level":"info","scope":"${data.scope}",` +
    `"session_id":${session},"transport":null,"direction":null,"message":${JSON.stringify(data.message)}}`;
  return sseFrame(id, 'log', json);
}

/** Emits the due lines at each tick. One load at a time. */
export class LineSource {
  readonly #emit: (lines: readonly Line[]) => void;
  #seq = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(emit: (lines: readonly Line[]) => void) {
    this.#emit = emit;
  }

  start(rate: number, messageBytes: number): void {
    const filler = 'x'.repeat(messageBytes);
    const began = performance.now();
    let sent = 0;
    const tick = (): void => {
      const owed = Math.floor(((performance.now() - began) / 1000) * rate) - sent;
      const lines: Line[] = [];
      const now = Date.now();
      for (let n = Math.min(owed, BURST); n > 0; n--) {
        const number = `${++sent} `;
        lines.push(this.#line('bot', 'load', number + filler.slice(number.length), now));
      }
      if (lines.length > 0) this.#emit(lines);
      this.#timer = setTimeout(tick, owed > BURST ? 0 : Math.max(TICK_MS, 1000 / rate));
    };
    tick();
  }

  /** Ends the load with the line that marks its end. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#emit([this.#line('dispatch', null, 'ping -> "pong"', Date.now())]);
  }

  #line(scope: string, session: string | null, message: string, now: number): Line {
    return {
      id: `${EPOCH}-${++this.#seq}`,
      data: {
        timestamp_ms: now,
        level: 'info',
        scope,
        session_id: session,
        transport: null,
        direction: null,
        message,
      },
    };
  }
}

/** How lines are written: each separately, or those of one tick together. */
export type Form = 'batched' | 'unbatched';

/** Parses the query of `POST /load`. */
export function loadFrom(query: string): { rate: number; bytes: number; form: Form } {
  const values = new URLSearchParams(query);
  return {
    rate: Number(values.get('rate')),
    bytes: Number(values.get('bytes')),
    form: values.get('form') === 'unbatched' ? 'unbatched' : 'batched',
  };
}

/** Joins frames into buffers of at most `most` bytes. */
export function pieces(frames: readonly string[], most: number): Buffer[] {
  const joined: Buffer[] = [];
  let text = '';
  for (const frame of frames) {
    if (text.length + frame.length > most) {
      joined.push(Buffer.from(text, 'latin1'));
      text = '';
    }
    text += frame;
  }
  if (text !== '') joined.push(Buffer.from(text, 'latin1'));
  return joined;
}
