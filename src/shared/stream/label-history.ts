// Runs in a front thread. Owns which labels each bot had at each frame of the ring, so that a stream that is limited by
// labels gets exactly what its bots wrote while they had them, wherever its cursor stands.

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
  /** Oldest first; the last has no end while the bot is there. */
  spans: Span[];
}

export class LabelHistory {
  readonly #sessions = new Map<number, Session[]>();
  /** Sessions with a span that has ended, in the order of the ends; each is looked at again when the ring has passed it. */
  readonly #ended: { session: Session; until: number }[] = [];
  /** Frames below this are accounted for. */
  known = 0;
  #since = 0;

  /** Of frames below this nobody here knows what labels their bots had. */
  get since(): number {
    return this.#since;
  }

  /** Frames were missed before frame `seq`: what labels bots had until then is not known, also where it was. */
  restart(seq: number): void {
    this.#since = seq;
    this.#sessions.clear();
    this.#ended.length = 0;
  }

  /**
   * A bot has these labels from frame `from` on. What it had before ends before frame `until`: one later for a change
   * that is seen on the ring, because the frame that tells of it belongs to both.
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

  /** There is no such bot any more from frame `until` on. */
  remove({ low, high }: NameHash, until: number): void {
    const session = this.#find(low, high);
    const last = session?.spans.at(-1);
    if (session && last?.until === Number.POSITIVE_INFINITY) this.#end(session, last, until);
  }

  /** Forgets what lies before frame `tail`, the oldest that can still be read. */
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

  /** Whether something is known of what labels the session had at frame `seq`. */
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
