// Runs in main. Owns the numbers of the hosts that count for `hosts.max_dedicated`: dedicated ones, those of groups that bots name, and
// those that the service gives to suspects.

import { DroverError } from '../../shared/errors.js';
import { NoHostError } from './no-host.js';

export class OwnHosts {
  readonly #most: number;
  /** Numbers, also of hosts that are to start, with whether it is a suspect's. Bounded by `hosts.max_dedicated`. */
  readonly #hosts = new Map<number, boolean>();

  /** @param most `hosts.max_dedicated`. */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Checks whether a request may have one more host. @param wanted how many its bots are to have already.
   * @param held of a limited token: how many of these have bots that it reaches.
   * @throws NoPlace at the limit. @throws DroverError `forbidden` above the share of a limited token.
   */
  admit(wanted: number, held?: number): void {
    const used = Math.max(wanted, this.#hosts.size);
    if (used >= this.#most) throw this.#full();
    if (held === undefined || leavesShare(held, this.#most - used)) return;
    throw new DroverError(
      'forbidden',
      `this token is limited to some bots, which have ${held} of ${this.#most} dedicated hosts and hosts of groups (hosts.max_dedicated) and may not have more than they leave to others: stop one, or let bots share one (host_group)`,
    );
  }

  /**
   * Checks whether a suspect may have a host. All suspects together get half of what requests leave, so that bots that hang on
   * purpose do not take the last one. @throws NoPlace
   */
  admitSuspect(): void {
    let suspects = 0;
    for (const isSuspect of this.#hosts.values()) if (isSuspect) suspects += 1;
    const share = Math.ceil((this.#most - this.#hosts.size + suspects) / 2);
    if (this.#hosts.size >= this.#most) throw this.#full();
    if (suspects < share) return;
    throw new NoHostError(
      `${suspects} bots that broke their hosts have their own, which is their share (hosts.max_dedicated is ${this.#most})`,
    );
  }

  add(number: number, isSuspect: boolean): void {
    this.#hosts.set(number, isSuspect);
  }

  remove(number: number): void {
    this.#hosts.delete(number);
  }

  #full(): NoHostError {
    return new NoHostError(
      `limit of dedicated hosts and hosts of groups reached (hosts.max_dedicated is ${this.#most})`,
    );
  }
}

/**
 * Whether a limited token may have one more of what all share: as long as it then has no more than is free. So the first token has at
 * most a half, the next one half of the rest, and the last one is left to those who reach all bots.
 */
export function leavesShare(held: number, free: number): boolean {
  return held + 1 < free;
}
