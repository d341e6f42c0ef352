// Runs in main. Owns the calls that wait for a node, so that they end when the node is lost: one that is frozen answers to its name.

import { DroverError } from '../../shared/errors.js';
import type { Calls, Members } from './parts.js';

export class CallsToMembers {
  readonly #calls: Calls;
  readonly #members: Pick<Members, 'self' | 'all' | 'get' | 'onChange'>;
  /** What ends the calls to each node. Bounded by the bound of calls. */
  readonly #waiting = new Map<string, Set<(error: DroverError) => void>>();
  readonly #unlisten: () => void;

  constructor(calls: Calls, members: Pick<Members, 'self' | 'all' | 'get' | 'onChange'>) {
    this.#calls = calls;
    this.#members = members;
    this.#unlisten = members.onChange(() => this.#endLost());
  }

  /** The other nodes whose leases have not run out. */
  others(): string[] {
    const { self } = this.#members;
    return this.#members
      .all()
      .filter(({ node, isLive }) => isLive && node !== self)
      .map(({ node }) => node);
  }

  /** @throws DroverError as {@link Calls.call}; `unavailable` at once when the node is lost, also while this waits. */
  async call<T>(
    node: string,
    method: string,
    input: unknown,
    deadlineMs: number,
    gone?: AbortSignal,
  ): Promise<T> {
    if (this.#isLost(node)) throw lost(node);
    const waiting = this.#waiting.get(node) ?? new Set();
    this.#waiting.set(node, waiting);
    let end: (error: DroverError) => void = () => {};
    const ended = new Promise<never>((_, reject) => {
      end = reject;
    });
    waiting.add(end);
    try {
      const answer = this.#calls.call(node, method, input, deadlineMs, gone);
      return (await Promise.race([answer, ended])) as T;
    } finally {
      waiting.delete(end);
      if (waiting.size === 0 && this.#waiting.get(node) === waiting) this.#waiting.delete(node);
    }
  }

  close(): void {
    this.#unlisten();
  }

  /** One that is not known may have just joined. */
  #isLost(node: string): boolean {
    return this.#members.get(node)?.isLive === false;
  }

  #endLost(): void {
    for (const [node, waiting] of this.#waiting) {
      if (this.#isLost(node)) for (const end of waiting) end(lost(node));
    }
  }
}

function lost(node: string): DroverError {
  return new DroverError('unavailable', `node ${node} cannot be reached: its lease has run out`);
}
