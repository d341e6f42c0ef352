// Runs in a front thread and in the journal thread. Owns the values that each bot had, and from which frame to which, so that each
// frame is judged by its own time, at any cursor.

import type { NameHash } from '../contract/name-hash.js';

/** A bot had this value from frame `from` on and before frame `until`. */
interface Span<V> {
  from: number;
  until: number;
  readonly value: V;
}

interface Session<V> {
  readonly low: number;
  readonly high: number;
  /** Oldest first; the last has no end while the bot exists. */
  readonly spans: Span<V>[];
}

export class SpanHistory<V> {
  readonly #isSame: (one: V, other: V) => boolean;
  readonly #sessions = new Map<number, Session<V>[]>();
  /** Sessions with a span that has ended, in the order of the ends; pruned when the ring has passed them. */
  readonly #ended: { session: Session<V>; until: number }[] = [];
  /** Frames below this are accounted for. */
  known = 0;
  #since = 0;

  constructor(isSame: (one: V, other: V) => boolean) {
    this.#isSame = isSame;
  }

  /** The values at frames below this are unknown. */
  get since(): number {
    return this.#since;
  }

  /** After missed frames before `seq`: all values until then are unknown. */
  restart(seq: number): void {
    this.#since = seq;
    this.#sessions.clear();
    this.#ended.length = 0;
  }

  /**
   * A bot has this value from frame `from` on. Its earlier value ends before frame `until`: one later than `from` for a change
   * on the ring, because the frame of the change belongs to both.
   */
  set({ low, high }: NameHash, value: V, from: number, until: number): void {
    const session = this.#find(low, high) ?? this.#add(low, high);
    const last = session.spans.at(-1);
    if (last && last.until === Number.POSITIVE_INFINITY) {
      if (this.#isSame(last.value, value)) return;
      this.#end(session, last, until);
    }
    session.spans.push({ from, until: Number.POSITIVE_INFINITY, value });
  }

  /** The bot does not exist from frame `until` on. */
  remove({ low, high }: NameHash, until: number): void {
    const session = this.#find(low, high);
    const last = session?.spans.at(-1);
    if (session && last?.until === Number.POSITIVE_INFINITY) this.#end(session, last, until);
  }

  /** Removes what ended before frame `tail`, the oldest that can still be read. */
  prune(tail: number): void {
    let done = 0;
    for (const { session, until } of this.#ended) {
      if (until > tail) break;
      // Spans end in the order in which they begin.
      while ((session.spans[0]?.until ?? Number.POSITIVE_INFINITY) <= tail) session.spans.shift();
      if (session.spans.length === 0) this.#forget(session);
      done += 1;
    }
    if (done > 0) this.#ended.splice(0, done);
  }

  /** The values of the session at frame `seq`: two at a change, none when it did not exist. */
  at(low: number, high: number, seq: number): V[] {
    return this.#spansAt(low, high, seq).map(({ value }) => value);
  }

  /** Whether the value of the session at frame `seq` is known. */
  knows(low: number, high: number, seq: number): boolean {
    return this.#spansAt(low, high, seq).length > 0;
  }

  /** A bot can have thousands of them: they are found from their order. */
  #spansAt(low: number, high: number, seq: number): Span<V>[] {
    const spans = this.#find(low, high)?.spans ?? [];
    let end = spans.length;
    for (let from = 0; from < end; ) {
      const middle = (from + end) >>> 1;
      if ((spans[middle] as Span<V>).from <= seq) from = middle + 1;
      else end = middle;
    }
    let first = end;
    while (first > 0 && (spans[first - 1] as Span<V>).until > seq) first -= 1;
    return spans.slice(first, end);
  }

  #find(low: number, high: number): Session<V> | undefined {
    return this.#sessions.get(low)?.find((session) => session.high === high);
  }

  #add(low: number, high: number): Session<V> {
    const session: Session<V> = { low, high, spans: [] };
    const others = this.#sessions.get(low);
    if (others) others.push(session);
    else this.#sessions.set(low, [session]);
    return session;
  }

  #end(session: Session<V>, span: Span<V>, until: number): void {
    span.until = until;
    this.#ended.push({ session, until });
  }

  #forget(session: Session<V>): void {
    const others = this.#sessions.get(session.low)?.filter((other) => other !== session) ?? [];
    if (others.length > 0) this.#sessions.set(session.low, others);
    else this.#sessions.delete(session.low);
  }
}
