// Runs in a front thread. Owns the subscribers that passes leave out: they have everything that the index has examined, and
// get nothing until it finds a frame for their group.

import type { Subscriber } from './subscriber.js';
import type { SubscriberGroup } from './subscriber-group.js';
import { SubscriberList } from './subscriber-list.js';

export class ParkedSubscribers {
  /** Goes through all of them, for heartbeats and stalls. */
  readonly list = new SubscriberList();
  readonly #byGroup = new Map<SubscriberGroup, Set<Subscriber>>();

  /** Adds a subscriber that is in no list. Its group must be in the index, and its cursor where the index is. */
  add(subscriber: Subscriber): void {
    const { group } = subscriber;
    let members = this.#byGroup.get(group);
    if (!members) {
      members = new Set();
      this.#byGroup.set(group, members);
    }
    members.add(subscriber);
    subscriber.park();
    this.list.push(subscriber);
  }

  remove(subscriber: Subscriber): void {
    this.#byGroup.get(subscriber.group)?.delete(subscriber);
    this.#unpark(subscriber);
  }

  /**
   * Returns the subscribers of a group to the passes. Call it before the index advances, so that they get their
   * position.
   */
  take(group: SubscriberGroup): readonly Subscriber[] {
    const members = this.#byGroup.get(group);
    if (!members || members.size === 0) return [];
    const taken = [...members];
    members.clear();
    for (const subscriber of taken) this.#unpark(subscriber);
    return taken;
  }

  /** The last member of the group is gone. */
  drop(group: SubscriberGroup): void {
    this.#byGroup.delete(group);
  }

  #unpark(subscriber: Subscriber): void {
    this.list.remove(subscriber);
    subscriber.unpark();
  }
}
