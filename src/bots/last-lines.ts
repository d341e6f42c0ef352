// Runs in main. Owns the look back at what bots have written last, on the ring: no bot host has to keep it, and it is
// there when the host is not.

import type { LogEvent } from '../contract/events.js';
import type { NameHasher } from '../contract/name-hash.js';
import type { RingReader } from '../shm/ring-reader.js';

/** Frames that one search looks at, at most. */
const MAX_SCANNED = 200_000;

export class LastLines {
  readonly #reader: RingReader;
  readonly #names: NameHasher;

  /** @param reader with a READING cell of main's own. */
  constructor(reader: RingReader, names: NameHasher) {
    this.#reader = reader;
    this.#names = names;
  }

  /** The last `count` lines of these bots, oldest first. */
  of(bots: readonly string[], count: number): string[] {
    const reader = this.#reader;
    const wanted = new Set(bots.map((id) => key(this.#names.of(id))));
    const head = reader.head();
    const first = Math.max(reader.tail(), head - MAX_SCANNED);
    const lines: string[] = [];
    // Lapped between two statements: there is so much traffic that the lines are gone anyway.
    if (wanted.size === 0 || !reader.protect(first)) return lines;
    for (let seq = head - 1; seq >= first && lines.length < count; seq--) {
      const low = reader.sessionLow(seq);
      const high = reader.sessionHigh(seq);
      if (reader.level(seq) > LAST_LEVEL || !wanted.has(key({ low, high }))) continue;
      const text = reader.text(seq);
      const event = JSON.parse(text.slice(text.indexOf('\ndata: ') + 7)) as LogEvent;
      lines.unshift(`${event.level} ${event.session_id} ${event.scope}: ${event.message}`);
    }
    reader.release();
    return lines;
  }
}

/** The highest code of a level; frames that have none have a higher one. */
const LAST_LEVEL = 3;

function key({ low, high }: { low: number; high: number }): string {
  return `${low} ${high}`;
}
