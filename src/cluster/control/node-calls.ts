// Runs in main. Owns the calls that wait for a node, so that they end when it is known not to answer: one that is frozen answers to its
// name.

import type { Calls } from '../wire/calls.js';
import { CUT_OFF, NodeUnreachable } from '../wire/calls.js';
import type { Members } from './parts.js';

/** A call on its way. */
interface Waiting {
  node: string;
  /** Of the run of the node that was asked; undefined when it is not known. */
  incarnation: string | undefined;
  end(error: NodeUnreachable): void;
}

export class CallsToMembers {
  readonly #calls: Calls;
  readonly #members: Pick<Members, 'self' | 'all' | 'get' | 'onChange'>;
  /** Bounded by the bound of calls. */
  readonly #waiting = new Set<Waiting>();
  readonly #unlisten: () => void;

  constructor(calls: Calls, members: Pick<Members, 'self' | 'all' | 'get' | 'onChange'>) {
    this.#calls = calls;
    this.#members = members;
    this.#unlisten = members.onChange(() => this.#endHopeless());
  }

  /** The other nodes whose leases have not run out. */
  others(): string[] {
    const { self } = this.#members;
    return this.#members
      .all()
      .filter(({ node, isLive }) => isLive && node !== self)
      .map(({ node }) => node);
  }

  /** @throws DroverError as {@link Calls.call}; {@link NodeUnreachable} as soon as the node is known not to answer. */
  async call<T>(
    node: string,
    method: string,
    input: unknown,
    deadlineMs: number,
    gone?: AbortSignal,
  ): Promise<T> {
    const { incarnation } = this.#members.get(node) ?? {};
    const reason = this.#hopeless(node, incarnation);
    if (reason !== null) throw new NodeUnreachable(node, reason);
    let end: Waiting['end'] = () => {};
    const ended = new Promise<never>((_, reject) => {
      end = reject;
    });
    const waiting: Waiting = { node, incarnation, end };
    this.#waiting.add(waiting);
    try {
      const answer = this.#calls.call(node, method, input, deadlineMs, gone);
      return (await Promise.race([answer, ended])) as T;
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  close(): void {
    this.#unlisten();
  }

  /** Why there will be no answer of that run of a node; null when there may be one. A node that is not known may have just joined. */
  #hopeless(node: string, incarnation: string | undefined): string | null {
    const { self } = this.#members;
    const member = this.#members.get(node);
    if (node === self || !member) return null;
    if (this.#members.get(self)?.isLive === false) return CUT_OFF;
    if (!member.isLive) return 'its lease has run out';
    const isSame = incarnation === undefined || member.incarnation === incarnation;
    return isSame ? null : 'it has started again';
  }

  #endHopeless(): void {
    for (const { node, incarnation, end } of this.#waiting) {
      const reason = this.#hopeless(node, incarnation);
      if (reason !== null) end(new NodeUnreachable(node, reason));
    }
  }
}
