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
export const OPENING = retryLine(2000, 0, () => 0.5) + positionComment(EPOCH, 1);

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
  readonly #emit: (lines: readonly Line[], form: Form) => void;
  readonly #timers = new Set<NodeJS.Timeout>();
  #form: Form = 'batched';
  #seq = 0;

  /** @param emit writes lines in the form of the load. */
  constructor(emit: (lines: readonly Line[], form: Form) => void) {
    this.#emit = emit;
  }

  /** Obeys `POST /load` and `POST /stop`. */
  obey(path: string, query: string): void {
    if (path === '/load') this.#start(loadFrom(query));
    if (path === '/stop') this.#stop();
  }

  /** @param rate lines per second of all sources together; each source has its own timer, like a bot. */
  #start({ rate, bytes, form, sources }: Load): void {
    this.#form = form;
    const each = rate / sources;
    const tickMs = Math.max(TICK_MS, 1000 / each);
    for (let source = 0; source < sources; source++) {
      const session = sources === 1 ? 'load' : `load-${source}`;
      this.#after((source * tickMs) / sources, () => this.#run(session, each, bytes, tickMs));
    }
  }

  /** Ends the load with the line that marks its end. */
  #stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#emit([this.#line('dispatch', null, 'ping -> "pong"', Date.now())], this.#form);
  }

  #run(session: string, rate: number, bytes: number, tickMs: number): void {
    const filler = 'x'.repeat(bytes);
    const began = performance.now();
    let sent = 0;
    const tick = (): void => {
      const owed = Math.floor(((performance.now() - began) / 1000) * rate) - sent;
      const lines: Line[] = [];
      const now = Date.now();
      for (let n = Math.min(owed, BURST); n > 0; n--) {
        const number = `${++sent} `;
        lines.push(this.#line('bot', session, number + filler.slice(number.length), now));
      }
      if (lines.length > 0) this.#emit(lines, this.#form);
      this.#after(owed > BURST ? 0 : tickMs, tick);
    };
    tick();
  }

  #after(ms: number, callback: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      callback();
    }, ms);
    this.#timers.add(timer);
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

/** How lines are written: each separately, those of one tick together, or collected until a piece is large. */
export type Form = 'batched' | 'unbatched' | 'large';

/** A load as `POST /load` asks for it. */
interface Load {
  /** Lines per second. */
  rate: number;
  /** Of a message. */
  bytes: number;
  form: Form;
  /** Lines come from so many sources. */
  sources: number;
}

/** Parses the query of `POST /load`. */
function loadFrom(query: string): Load {
  const values = new URLSearchParams(query);
  const form = values.get('form');
  return {
    rate: Number(values.get('rate')),
    bytes: Number(values.get('bytes')),
    form: form === 'unbatched' || form === 'large' ? form : 'batched',
    sources: Number(values.get('sources') ?? 1),
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
