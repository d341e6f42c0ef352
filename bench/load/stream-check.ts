// Runs in swarm processes. The full check of one stream: every frame is parsed and must be the next one.

import { StringDecoder } from 'node:string_decoder';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { LatencyHistogram } from '../harness/latency-histogram.js';

/** The fields of a `log` event that the check uses. */
interface Line {
  timestamp_ms?: number;
  scope?: string;
  session_id?: string | null;
  message?: string;
  /** In `gap` events. */
  from?: string;
  to?: string;
  dropped?: number | null;
}

const EVENT_ID = /^[0-9a-f]+-(\d+)$/;
/** Lines of a load start with their number. */
const NUMBERED = /^(\d+) /;
/** The scope of the last line of a load. */
const END_SCOPE = 'dispatch';

/** Uses an independent parser; ids, unless the stream has a filter, and line numbers must be contiguous. */
export class StreamCheck {
  frames = 0;
  gaps = 0;
  /** Lost frames declared by gaps, as far as their number is known. */
  lost = 0;
  lastId = -1;
  /** The last line of the load has arrived. */
  ended = false;
  fault: string | undefined;
  /** The source of the lines, and the number of the last one; -1 after a gap. */
  #session = '';
  #number = 0;
  #now = 0;
  readonly #latencies: LatencyHistogram;
  readonly #filtered: boolean;
  readonly #decoder = new StringDecoder('utf8');
  readonly #parser = createParser({
    onEvent: (event) => this.#onEvent(event),
    onError: (error) => this.#fail(error.message),
  });

  constructor(latencies: LatencyHistogram, filtered = false) {
    this.#latencies = latencies;
    this.#filtered = filtered;
  }

  /** @param now the arrival time, by the clock of `timestamp_ms`. */
  feed(bytes: Buffer, now: number): void {
    this.#now = now;
    this.#parser.feed(this.#decoder.write(bytes));
  }

  #onEvent({ id, event, data }: EventSourceMessage): void {
    let line: Line;
    try {
      line = JSON.parse(data) as Line;
    } catch {
      this.#fail(`data that is not JSON after ${this.lastId}`);
      return;
    }
    // Initial snapshots have no number.
    if (id === undefined) return;
    const seq = Number(EVENT_ID.exec(id)?.[1] ?? Number.NaN);
    // The last one has the position of the stream.
    if (event === 'session' && this.lastId === -1) {
      this.lastId = seq;
      return;
    }
    this.frames += 1;
    if (event === 'gap') this.#onGap(line, seq);
    else if (!this.#isNext(seq)) this.#fail(`${id} after ${this.lastId}`);
    this.lastId = seq;
    if (event === 'log') this.#onLine(line);
  }

  #isNext(seq: number): boolean {
    return this.#filtered ? seq > this.lastId : this.lastId === -1 || seq === this.lastId + 1;
  }

  #onGap(gap: Line, seq: number): void {
    this.gaps += 1;
    this.lost += gap.dropped ?? 0;
    const from = Number(EVENT_ID.exec(gap.from ?? '')?.[1] ?? Number.NaN);
    if (this.lastId !== -1 && (from !== this.lastId + 1 || seq < from)) {
      this.#fail(`a gap from ${gap.from} to ${gap.to} after ${this.lastId}`);
    }
    this.#number = -1;
  }

  #onLine(line: Line): void {
    if (line.scope === END_SCOPE) this.ended = true;
    const number = Number(NUMBERED.exec(line.message ?? '')?.[1] ?? Number.NaN);
    if (!line.session_id || !(number > 0)) return;
    if (line.session_id !== this.#session) {
      this.#session = line.session_id;
      this.#number = Math.min(this.#number, 0);
    }
    if (this.#number !== -1 && number !== this.#number + 1) {
      this.#fail(`line ${number} after line ${this.#number}`);
    }
    this.#number = number;
    this.#latencies.record(Math.max(0, this.#now - (line.timestamp_ms ?? 0)));
  }

  #fail(what: string): void {
    this.fault ??= what;
  }
}
