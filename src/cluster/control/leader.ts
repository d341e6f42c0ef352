// In main. Whether this node leads: it then places bots. The same kind of lease as the node's, with another key.
//
// A leader that has lost it does not know that at once. It can do no harm: all that it writes names revisions.

import type { Clock } from '../../shared/clock.js';
import { createLease, LeaseDeadline } from '../../shared/memory/lease-deadline.js';
import { PROTOCOL } from '../wire/names.js';
import { Lease, NotKeptError } from './lease.js';
import { LEADER_KEY } from './node-keys.js';
import type { NodesBucket } from './nodes-bucket.js';

/** The node that a value of the leader's key names. */
export function leaderOf(value: string): string | null {
  try {
    const { node } = JSON.parse(value) as { node?: unknown };
    return typeof node === 'string' ? node : null;
  } catch {
    return null;
  }
}

export interface LeaderOptions {
  node: string;
  incarnation: string;
  bucket: NodesBucket;
  clock: Clock;
  onElected: () => void;
  onDeposed: () => void;
  /** A line for the operator. */
  say: (line: string) => void;
}

export class Leadership {
  readonly #options: LeaderOptions;
  /** null while this node has no lease: only a node of the cluster leads. */
  #lease: Lease | null = null;
  #isElected = false;
  /** It was said that no node can lead. */
  #isTold = false;

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  get isElected(): boolean {
    return this.#isElected;
  }

  /** To be called when the node's lease is held. */
  stand(): void {
    if (this.#lease) return;
    const { node, incarnation, bucket, clock, say } = this.#options;
    const value = JSON.stringify({ v: PROTOCOL, node, incarnation });
    this.#lease = new Lease({
      store: bucket.lease(LEADER_KEY),
      clock,
      deadline: new LeaseDeadline(createLease()),
      leaseMs: bucket.leaseMs,
      stopMs: 0,
      value: () => value,
      // The node's own lease is held: no other service has its name.
      ownerOf: (found) =>
        found === value ? 'self' : leaderOf(found) === node ? 'earlier' : 'other',
      // Another may lead by now. Nothing is lost: nobody runs anything because of this key.
      whenGone: 'lose',
      events: {
        onHeld: () => this.#elected(true),
        onExpiring: async (reason) => this.#lost(reason),
        onLost: async (reason) => this.#lost(reason),
        onOther: () => {},
        // The node's own lease has any other trouble too, and tells it.
        onTrouble: (reason, thrown) => {
          if (thrown instanceof NotKeptError && !this.#isTold) say(`no node can lead: ${reason}`);
          this.#isTold ||= thrown instanceof NotKeptError;
        },
      },
    });
    this.#lease.start();
  }

  /** Gives it back, so that another can lead at once. To be called when the node's lease is lost, or given back. */
  async resign(): Promise<void> {
    const lease = this.#lease;
    this.#lease = null;
    this.#elected(false);
    await lease?.close();
  }

  #lost(reason: string): void {
    if (this.#isElected) this.#options.say(`this node leads no longer: ${reason}`);
    this.#elected(false);
  }

  #elected(isElected: boolean): void {
    if (isElected) this.#isTold = false;
    if (isElected === this.#isElected) return;
    this.#isElected = isElected;
    if (isElected) this.#options.onElected();
    else this.#options.onDeposed();
  }
}
