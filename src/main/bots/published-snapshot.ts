// Runs in main. Owns main's copy of one bot's snapshot, and publishes its changes.

import type { ClusterBots } from '../../cluster/cluster.js';
import type { BotSpec } from '../../shared/contract/bots.js';
import type { BotSnapshot } from '../../shared/contract/events.js';
import { logItem, type ServiceEvents, sessionItem } from '../threads/service-events.js';
import { shownFleet } from './fleet-mark.js';

export class PublishedSnapshot {
  readonly #events: ServiceEvents;
  /** While the bot runs, its host owns `status`, `since_ms` and `data`. */
  readonly #snapshot: BotSnapshot;
  #isPublished = false;

  constructor(spec: BotSpec, events: ServiceEvents, cluster: Pick<ClusterBots, 'shown'>) {
    const { id, kind, desired, labels } = spec;
    this.#events = events;
    this.#snapshot = {
      id,
      kind,
      status: 'stopped',
      desired,
      since_ms: Date.now(),
      restarts: 0,
      started_at_ms: null,
      host: null,
      last_error: null,
      labels,
      data: {},
      usage: null,
      over_quota: [],
      next_try: null,
      version: null,
      ...cluster.shown(spec),
      ...shownFleet(spec),
    };
  }

  get value(): Readonly<BotSnapshot> {
    return this.#snapshot;
  }

  countRestart(): void {
    this.#snapshot.restarts += 1;
  }

  /** One state transition: one line and one `session` event (docs/INTERFACE.md §3). */
  async transition(status: string, patch: Partial<BotSnapshot>): Promise<void> {
    // The broadcaster needs the whole snapshot first.
    const known = this.#isPublished ? this.#term : this.#snapshot;
    this.#isPublished = true;
    const change = { ...known, ...patch, status, since_ms: Date.now() };
    Object.assign(this.#snapshot, change);
    const { id } = this.#snapshot;
    await this.#events.publish(logItem('state', 'bot', status, id), sessionItem(id, change));
  }

  async change(patch: Partial<BotSnapshot>): Promise<void> {
    Object.assign(this.#snapshot, patch);
    await this.#events.publish(sessionItem(this.#snapshot.id, { ...this.#term, ...patch }));
  }

  /** In a cluster each event has its term, because another node may have the bot by now. */
  get #term(): Partial<BotSnapshot> {
    const { term } = this.#snapshot;
    return term === undefined ? {} : { term };
  }
}
