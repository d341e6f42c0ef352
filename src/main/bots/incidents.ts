// Runs in main. Owns the counts of incidents, those that wait to be added to a report, and the groups that are not stored yet.

import { randomBytes } from 'node:crypto';
import { INCIDENT_TYPES, type Incident, type IncidentBot } from '../../shared/contract/bots.js';
import type {
  IncidentGroups as GroupList,
  GroupQuery,
} from '../../shared/contract/incident-groups.js';
import { SERVICE_SCOPE } from '../../shared/contract/scopes.js';
import type { LastLine } from '../../shared/contract/threads.js';
import { messageOf } from '../../shared/errors.js';
import { causeOf } from '../../shared/incidents/cause.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { IncidentGroupStore } from '../store/incident-group-store.js';
import type { IncidentStore, ShowIncident } from '../store/incident-store.js';
import type { HostThread } from '../threads/host-thread.js';
import { logItem, type ServiceEvents } from '../threads/service-events.js';
import { IncidentGroups } from './incident-groups.js';
import { IncidentWindow } from './incident-window.js';

/** An incident that was found. */
export type Found = Pick<Incident, 'type' | 'reason' | 'suspect' | 'stack' | 'exit' | 'stderr'>;

export interface KnownBots {
  /** The bot that has an id now. */
  identityOf(id: string): IncidentBot | undefined;
}

/** Bots that an incident report names; `bot_count` is the number of all. */
const MAX_BOTS = 200;
/** Stored identities of the named bots, in UTF-16 units of JSON. Only callers without a limit see the others. */
const MAX_IDENTITY_UNITS = 65_536;
/** Ids of further bots that are stored with a report, in UTF-16 units: about 6,000 bots. Their own lists show the report too. */
const MAX_OTHERS_UNITS = 65_536;
/** Repeated incidents are counted for this long, in ms, before the count is written. */
const COUNT_MS = 1000;
/** Changes of groups are stored this much later, in ms: a run that is killed meanwhile loses those counts. */
const STORE_GROUPS_MS = 5000;
/** An incident report that was accepted. */
export interface Reported {
  /** Id of the report, or of the earlier one that the incident is counted on; null when it has none. */
  id: string | null;
  /** Resolves when the report is stored. Never rejects. */
  stored: Promise<void>;
}

/** How long the broadcaster may take to find the last lines, in ms. After that the report has none. */
const LINES_WITHIN_MS = 1500;

export class Incidents {
  readonly #store: IncidentStore;
  readonly #events: ServiceEvents;
  #bots: KnownBots = { identityOf: () => undefined };
  readonly #window = new IncidentWindow();
  /** Repeats by id of their report; null: without a report. Bounded by the window, and emptied by #write. */
  readonly #repeats = new Map<string | null, { count: number; at: number }>();
  /** Incidents since the start by type, also those without a report. */
  readonly counts = new Map<Incident['type'], number>(INCIDENT_TYPES.map((type) => [type, 0]));
  readonly #groupStore: IncidentGroupStore;
  readonly #groups: IncidentGroups;
  #timer: NodeJS.Timeout | undefined;
  #groupTimer: NodeJS.Timeout | undefined;

  constructor(store: IncidentStore, groupStore: IncidentGroupStore, events: ServiceEvents) {
    this.#store = store;
    this.#events = events;
    this.#groupStore = groupStore;
    this.#groups = new IncidentGroups(groupStore.all());
    this.#groups.catchUp(store.all());
  }

  /** Reports name these bots with their labels from now on. */
  identify(bots: KnownBots): void {
    this.#bots = bots;
  }

  /** Newest first: those that name one of `bots`, or all, of one cause or all, each as `show` returns it. */
  list(
    bots: readonly string[] | null,
    limit: number,
    show?: ShowIncident,
    cause?: string,
  ): Incident[] {
    return this.#store.list(bots, limit, show, cause);
  }

  groups(query: GroupQuery): GroupList {
    return this.#groups.list(query);
  }

  /** Stores what is not stored yet. Never rejects. */
  async close(): Promise<void> {
    clearTimeout(this.#groupTimer);
    await this.#storeGroups();
  }

  /**
   * Stores an incident report and puts a line about it on the stream; if it cannot be stored the line says so. Frequent
   * repetitions are only counted. Never throws: a full disk must not end the service or delay the replacement of a host.
   * @param host the host of the incident, if there was one. @param bots the bots that were running there.
   */
  report(found: Found, host: HostThread | undefined, bots: string[]): Reported {
    this.counts.set(found.type, (this.counts.get(found.type) ?? 0) + 1);
    const now = Date.now();
    const id = `${now.toString(36).padStart(9, '0')}-${randomBytes(4).toString('hex')}`;
    const whose =
      found.suspect === null ? `of host ${host?.number ?? 'none'}` : `of bot ${found.suspect}`;
    const kept = this.#window.take(found.type, whose, id, now);
    const cause = causeOf(found);
    this.#groups.add({
      found,
      cause,
      id: kept === id ? id : null,
      at: now,
      times: 1,
      bots,
      botCount: bots.length,
    });
    this.#storeGroupsSoon();
    if (kept !== id) {
      this.#count(kept, now);
      return { id: kept, stored: Promise.resolve() };
    }
    return {
      id,
      stored: this.#add({ ...found, id, at_ms: now, cause: cause.cause }, whose, host, bots),
    };
  }

  async #add(
    found: Found & Pick<Incident, 'id' | 'at_ms' | 'cause'>,
    whose: string,
    host: HostThread | undefined,
    bots: string[],
  ): Promise<void> {
    const { id } = found;
    // Read now, because bots can be deleted or relabelled during the wait.
    const commands = commandsOn([found.suspect ?? '', ...bots], host?.commands ?? []);
    const identities = this.#identities(found.suspect, bots, commands);
    let line = `incident ${id} (${found.type}): ${found.reason}`;
    try {
      const speakers = found.suspect === null ? bots : [found.suspect];
      // The broadcaster answers after everything that the host has posted, so its last lines are there.
      const lines = await this.#lastLines(speakers);
      const incident: Incident = {
        ...found,
        host: host?.number ?? null,
        heap: host?.heap ?? null,
        bots: bots.slice(0, MAX_BOTS),
        bot_count: bots.length,
        last_lines: lines.map(({ text }) => text),
        last_lines_at_ms: lines.map(({ at }) => at),
        last_commands: commands,
        repeats: 0,
        repeated_at_ms: null,
      };
      await this.#store.add(incident, identities, othersOf(bots));
    } catch (thrown) {
      this.#window.giveBack(found.type, whose, id);
      line += `; its incident report could not be stored: ${messageOf(thrown)}`;
    }
    this.#events.tell(logItem('error', SERVICE_SCOPE, line, found.suspect));
  }

  /** The identities of the suspect, the bots, and the bots of the commands (`<command> on <bot>`). */
  #identities(suspect: string | null, bots: string[], commands: readonly string[]): IncidentBot[] {
    const named = bots.slice(0, MAX_BOTS);
    const commanded = commands.map(botOfCommand);
    const identities: IncidentBot[] = [];
    let units = 0;
    for (const id of new Set([...(suspect === null ? [] : [suspect]), ...named, ...commanded])) {
      const identity = this.#bots.identityOf(id);
      units += identity ? JSON.stringify(identity).length : 0;
      if (units > MAX_IDENTITY_UNITS) break;
      if (identity) identities.push(identity);
    }
    return identities;
  }

  #lastLines(bots: string[]): Promise<LastLine[]> {
    return withTimeout(this.#events.lastLines(bots), LINES_WITHIN_MS, () => []);
  }

  #count(id: string | null, at: number): void {
    const { count } = this.#repeats.get(id) ?? { count: 0 };
    this.#repeats.set(id, { count: count + 1, at });
    if (this.#timer) return;
    this.#timer = setTimeout(() => void this.#write(), COUNT_MS);
    this.#timer.unref();
  }

  #storeGroupsSoon(): void {
    if (this.#groupTimer) return;
    this.#groupTimer = setTimeout(() => void this.#storeGroups(), STORE_GROUPS_MS);
    this.#groupTimer.unref();
  }

  async #storeGroups(): Promise<void> {
    this.#groupTimer = undefined;
    const changes = this.#groups.takeChanges();
    if (changes.size === 0) return;
    try {
      await this.#groupStore.write(changes);
    } catch {
      // The store says that it is not written. The counts are here, and what changes next stores them.
      this.#groups.giveBack(changes.keys());
    }
  }

  async #write(): Promise<void> {
    this.#timer = undefined;
    const repeats = [...this.#repeats];
    this.#repeats.clear();
    for (const [id, { count, at }] of repeats) {
      if (id === null) {
        const line = `${count} more incidents have no incident report: rate limit exceeded`;
        this.#events.tell(logItem('error', SERVICE_SCOPE, line));
        continue;
      }
      let line = `incident ${id} has repeated itself, times: ${count}`;
      let suspect: string | null = null;
      try {
        suspect = (await this.#store.repeat(id, count, at)) ?? null;
      } catch (thrown) {
        line += `; its incident report does not show that: ${messageOf(thrown)}`;
      }
      this.#events.tell(logItem('error', SERVICE_SCOPE, line, suspect));
    }
  }
}

/** Of `<command> on <bot>`; no id has a space. */
export function botOfCommand(entry: string): string {
  return entry.slice(entry.lastIndexOf(' ') + 1);
}

/** Without those to bots that the incident is not about: a host remembers commands to all bots that it ran. */
function commandsOn(bots: readonly string[], commands: readonly string[]): string[] {
  const named = new Set(bots);
  return commands.filter((command) => named.has(botOfCommand(command)));
}

/** The bots that a report does not name, as many as fit. */
function othersOf(bots: readonly string[]): string[] {
  let units = 0;
  return bots.slice(MAX_BOTS).filter((bot) => {
    units += bot.length + 1;
    return units <= MAX_OTHERS_UNITS;
  });
}
