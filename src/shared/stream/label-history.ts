// Runs in a front thread and in the journal thread. Owns the labels that each bot had at each frame, so that a stream that is
// limited by labels gets exactly what its bots wrote while they had them, at any cursor.

import { hasLabels } from '../contract/labels.js';
import type { NameHash } from '../contract/name-hash.js';

export type BotLabels = Readonly<Record<string, string>>;

/** A bot had these labels from frame `from` on and before frame `until`. */
interface Span {
  from: number;
  until: number;
  readonly labels: BotLabels;
}

interface Session {
  readonly low: number;
  readonly high: number;
  /** Oldest first; the last has no end while the bot exists. */
  spans: Span[];
}

export class LabelHistory {
  readonly #sessions = new Map<number, Session[]>();
  /** Sessions with a span that has ended, in the order of the ends; pruned when the ring has passed them. */
  readonly #ended: { session: Session; until: number }[] = [];
  /** Frames below this are accounted for. */
  known = 0;
  #since = 0;

  /** The labels at frames below this are unknown. */
  get since(): number {
    return this.#since;
  }

  /** After missed frames before `seq`: all labels until then are unknown. */
  restart(seq: number): void {
    this.#since = seq;
    this.#sessions.clear();
    this.#ended.length = 0;
  }

  /**
   * A bot has these labels from frame `from` on. Its earlier labels end before frame `until`: one later than `from` for a change
   * on the ring, because the frame of the change belongs to both.
   */
  set({ low, high }: NameHash, labels: BotLabels, from: number, until: number): void {
    const session = this.#find(low, high) ?? this.#add(low, high);
    const last = session.spans.at(-1);
    if (last && last.until === Number.POSITIVE_INFINITY) {
      if (isSame(last.labels, labels)) return;
      this.#end(session, last, until);
    }
    session.spans.push({ from, until: Number.POSITIVE_INFINITY, labels });
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
      session.spans = session.spans.filter((span) => span.until > tail);
      if (session.spans.length === 0) this.#forget(session);
      done += 1;
    }
    if (done > 0) this.#ended.splice(0, done);
  }

  /** Whether the session had all of the wanted labels at frame `seq`. */
  had(low: number, high: number, seq: number, wanted: BotLabels): boolean {
    const session = this.#find(low, high);
    if (!session) return false;
    return session.spans.some(
      ({ from, until, labels }) => from <= seq && seq < until && hasLabels(labels, wanted),
    );
  }

  /** Whether the labels of the session at frame `seq` are known. */
  knows(low: number, high: number, seq: number): boolean {
    const spans = this.#find(low, high)?.spans ?? [];
    return spans.some(({ from, until }) => from <= seq && seq < until);
  }

  #find(low: number, high: number): Session | undefined {
    return this.#sessions.get(low)?.find((session) => session.high === high);
  }

  #add(low: number, high: number): Session {
    const session: Session = { low, high, spans: [] };
    const others = this.#sessions.get(low);
    if (others) others.push(session);
    else this.#sessions.set(low, [session]);
    return session;
  }

  #end(session: Session, span: Span, until: number): void {
    span.until = until;
    this.#ended.push({ session, until });
  }

  #forget(session: Session): void {
    const others = this.#sessions.get(session.low)?.filter((other) => other !== session) ?? [];
    if (others.length > 0) this.#sessions.set(session.low, others);
    else this.#sessions.delete(session.low);
  }
}

function isSame(one: BotLabels, other: BotLabels): boolean {
  return Object.keys(one).length === Object.keys(other).length && hasLabels(one, other);
}
