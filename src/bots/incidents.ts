// Runs in main. Owns the dossiers: what is found out about a bot or a host that broke, before anything else is done.

import { randomBytes } from 'node:crypto';
import type { Incident } from '../contract/bots.js';
import { messageOf } from '../errors.js';
import type { IncidentStore } from '../store/bots.js';
import type { HostThread } from './host-thread.js';
import { logItem, SERVICE_SCOPE, type ServiceEvents } from './service-events.js';

export class Incidents {
  readonly #store: IncidentStore;
  readonly #events: ServiceEvents;

  constructor(store: IncidentStore, events: ServiceEvents) {
    this.#store = store;
    this.#events = events;
  }

  /** Newest first; those that name one of `bots`, or all, each as `show` has it. */
  list(
    bots: readonly string[] | null,
    limit: number,
    show?: (incident: Incident) => Incident | undefined,
  ): Incident[] {
    return this.#store.list(bots, limit, show);
  }

  /**
   * Keeps a dossier and puts a line about it on the stream; when it cannot be kept the line says so. Never rejects: a
   * full disk must not end the service, nor keep a broken host from being replaced.
   * @param host the host that it happened on, undefined when it was none. @param bots the bots that were running there.
   */
  async report(
    found: Pick<Incident, 'type' | 'reason' | 'suspect' | 'stack'>,
    host: HostThread | undefined,
    bots: string[],
  ): Promise<void> {
    const now = Date.now();
    const id = `${now.toString(36).padStart(9, '0')}-${randomBytes(4).toString('hex')}`;
    let line = `incident ${id} (${found.type}): ${found.reason}`;
    try {
      const speakers = found.suspect === null ? bots : [found.suspect];
      const last_lines = await this.#events.lastLines(speakers);
      await this.#store.add({
        id,
        at_ms: now,
        ...found,
        host: host?.number ?? null,
        heap: host?.heap ?? null,
        bots,
        last_lines,
        last_commands: [...(host?.commands ?? [])],
      });
    } catch (thrown) {
      line += `; its dossier could not be kept: ${messageOf(thrown)}`;
    }
    this.#events.tell(logItem('error', SERVICE_SCOPE, line, found.suspect));
  }
}
