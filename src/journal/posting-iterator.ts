import type { Recorder } from './recorder.js';
import { type NameKey, SEGMENT, type Tables } from './tables.js';

/** Sessions of one filter that are looked up in the postings; with more, all frames are scanned. */
const MAX_POSTED = 64;
/** The session that gaps are posted under. */
export const NOBODY: NameKey = [0, 0];

export function isPosted(sessions: readonly NameKey[] | undefined): sessions is readonly NameKey[] {
  return sessions !== undefined && sessions.length <= MAX_POSTED;
}

/** Positions of these sessions' frames in a segment of the tables. */
export function* placesIn(
  { postings }: Tables,
  segment: number,
  sessions: readonly NameKey[],
): Generator<number> {
  for (const session of sessions) {
    const stored = postings.getBinary([...session, segment]);
    if (stored) yield* new Uint16Array(new Uint8Array(stored).buffer);
  }
}

/** Iterates upwards over the frames of some sessions, and the gaps. */
export class PostingIterator {
  readonly #tables: Tables;
  readonly #unposted: ReturnType<Recorder['unposted']>;
  readonly #sessions: readonly NameKey[];
  #segment = -1;
  #places = new Uint16Array();
  #at = 0;

  constructor(tables: Tables, unposted: Recorder['unposted'], sessions: readonly NameKey[]) {
    this.#tables = tables;
    this.#sessions = [...sessions, NOBODY];
    this.#unposted = unposted(this.#sessions);
  }

  /** The first frame from `seq` on, which must not decrease; the start of the next segment when this one has none. */
  from(seq: number): number {
    const segment = Math.floor(seq / SEGMENT) * SEGMENT;
    if (segment !== this.#segment) this.#load(segment);
    const places = this.#places;
    while (this.#at < places.length && segment + (places[this.#at] as number) < seq) this.#at += 1;
    const place = places[this.#at];
    return place === undefined ? segment + SEGMENT : segment + place;
  }

  #load(segment: number): void {
    const inMemory = this.#unposted.find((one) => one.segment === segment)?.places.flat();
    this.#places = Uint16Array.from(inMemory ?? placesIn(this.#tables, segment, this.#sessions));
    this.#places.sort();
    this.#segment = segment;
    this.#at = 0;
  }
}
