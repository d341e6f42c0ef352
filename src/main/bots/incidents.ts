// Runs in main. Owns the dossiers: what is found out about a bot or a host that broke, before anything else is done.

import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { INCIDENT_TYPES, type Incident, type IncidentBot } from '../../shared/contract/bots.js';
import { messageOf } from '../../shared/errors.js';
import { logItem, SERVICE_SCOPE, type ServiceEvents } from '../service-events.js';
import type { IncidentStore, ShowIncident } from '../store/incident-store.js';
import type { HostThread } from '../threads/host-thread.js';
import { IncidentWindow } from './incident-window.js';

/** Bots that a dossier names; `bot_count` says how many there were. */
const MAX_BOTS = 200;
/** What is kept of who those were, in UTF-16 units of JSON; of the others only callers without a limit are told. */
const MAX_IDENTITY_UNITS = 65_536;
/** How long what has no dossier of its own is counted before that is written, in ms. */
const COUNT_MS = 1000;
/** How long the broadcaster may take to find the last lines, in ms; a dossier does without them then. */
const LINES_WITHIN_MS = 1500;

export class Incidents {
  readonly #store: IncidentStore;
  readonly #events: ServiceEvents;
  readonly #identityOf: (id: string) => IncidentBot | undefined;
  readonly #window = new IncidentWindow();
  /** What is counted on which dossier; null: on none. Bounded by what the window lets through, and emptied by #write. */
  readonly #repeats = new Map<string | null, { count: number; at: number }>();
  /** How many of every type there were since the start, those without a dossier too. */
  readonly counts = new Map<Incident['type'], number>(INCIDENT_TYPES.map((type) => [type, 0]));
  #timer: NodeJS.Timeout | undefined;

  /** @param identityOf tells who has an id now. */
  constructor(
    store: IncidentStore,
    events: ServiceEvents,
    identityOf: (id: string) => IncidentBot | undefined,
  ) {
    this.#store = store;
    this.#events = events;
    this.#identityOf = identityOf;
  }

  /** Newest first; those that name one of `bots`, or all, each as `show` has it. */
  list(bots: readonly string[] | null, limit: number, show?: ShowIncident): Incident[] {
    return this.#store.list(bots, limit, show);
  }

  /**
   * Keeps a dossier and puts a line about it on the stream; when it cannot be kept the line says so. What happens over and
   * over is counted instead. Never rejects: a full disk must not end the service, nor keep a broken host from being
   * replaced.
   * @param host the host that it happened on, undefined when it was none. @param bots the bots that were running there.
   */
  async report(
    found: Pick<Incident, 'type' | 'reason' | 'suspect' | 'stack'>,
    host: HostThread | undefined,
    bots: string[],
  ): Promise<void> {
    this.counts.set(found.type, (this.counts.get(found.type) ?? 0) + 1);
    const now = Date.now();
    const id = `${now.toString(36).padStart(9, '0')}-${randomBytes(4).toString('hex')}`;
    const whose = found.suspect === null ? `of host ${host?.number}` : `of bot ${found.suspect}`;
    const kept = this.#window.take(found.type, whose, id, now);
    if (kept !== id) return this.#count(kept, now);
    // Before the wait: they can be deleted, or be given other labels.
    const identities = this.#identities(found.suspect, bots, host?.commands ?? []);
    let line = `incident ${id} (${found.type}): ${found.reason}`;
    try {
      const speakers = found.suspect === null ? bots : [found.suspect];
      // Behind all that the host has posted, so that its last lines are there to be found.
      const last_lines = await this.#lastLines(speakers);
      const dossier: Incident = {
        id,
        at_ms: now,
        ...found,
        host: host?.number ?? null,
        heap: host?.heap ?? null,
        bots: bots.slice(0, MAX_BOTS),
        bot_count: bots.length,
        last_lines,
        last_commands: [...(host?.commands ?? [])],
        repeats: 0,
        repeated_at_ms: null,
      };
      await this.#store.add(dossier, identities);
    } catch (thrown) {
      this.#window.giveBack(found.type, whose, id);
      line += `; its dossier could not be kept: ${messageOf(thrown)}`;
    }
    this.#events.tell(logItem('error', SERVICE_SCOPE, line, found.suspect));
  }

  /** Of the suspect, the bots, and those that the commands (`<command> on <bot>`) are of. */
  #identities(suspect: string | null, bots: string[], commands: readonly string[]): IncidentBot[] {
    const named = bots.slice(0, MAX_BOTS);
    const commanded = commands.map((command) => command.slice(command.lastIndexOf(' ') + 1));
    const identities: IncidentBot[] = [];
    let units = 0;
    for (const id of new Set([...(suspect === null ? [] : [suspect]), ...named, ...commanded])) {
      const identity = this.#identityOf(id);
      units += identity ? JSON.stringify(identity).length : 0;
      if (units > MAX_IDENTITY_UNITS) break;
      if (identity) identities.push(identity);
    }
    return identities;
  }

  async #lastLines(bots: string[]): Promise<string[]> {
    const late = new AbortController();
    const limit = delay(LINES_WITHIN_MS, [], { signal: late.signal }).catch(() => []);
    const lines = await Promise.race([this.#events.lastLines(bots), limit]);
    late.abort();
    return lines;
  }

  #count(id: string | null, at: number): void {
    const { count } = this.#repeats.get(id) ?? { count: 0 };
    this.#repeats.set(id, { count: count + 1, at });
    if (this.#timer) return;
    this.#timer = setTimeout(() => void this.#write(), COUNT_MS);
    this.#timer.unref();
  }

  async #write(): Promise<void> {
    this.#timer = undefined;
    const repeats = [...this.#repeats];
    this.#repeats.clear();
    for (const [id, { count, at }] of repeats) {
      if (id === null) {
        const line = `${count} more incidents have no dossier: there were too many within a minute`;
        this.#events.tell(logItem('error', SERVICE_SCOPE, line));
        continue;
      }
      let line = `incident ${id} has repeated itself, times: ${count}`;
      let suspect: string | null = null;
      try {
        suspect = (await this.#store.repeat(id, count, at)) ?? null;
      } catch (thrown) {
        line += `; its dossier does not say so: ${messageOf(thrown)}`;
      }
      this.#events.tell(logItem('error', SERVICE_SCOPE, line, suspect));
    }
  }
}
