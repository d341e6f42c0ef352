// Runs in main. Owns the groups of incidents by cause: counts, bots and times, which outlive the reports of the incidents.

import type { Incident } from '../../shared/contract/bots.js';
import {
  GROUP_STEPS,
  type GroupQuery,
  type IncidentGroup,
  type IncidentGroups as IncidentGroupList,
  LISTED_BOTS,
  MAX_GROUP_BOTS,
  MAX_GROUPS,
  MINUTE_MS,
} from '../../shared/contract/incident-groups.js';
import { type Cause, causeOf } from '../../shared/incidents/cause.js';
import { Moments } from '../../shared/incidents/moments.js';
import type { StoredGroup } from '../store/incident-group-store.js';

/** Ids of bots in all groups. Above it the group with the oldest last incident keeps only their number. */
const MAX_ALL_BOTS = 100_000;
/** Longest `reason` that a group keeps, in UTF-16 units. */
const MAX_REASON_UNITS = 1024;
/** Bots fall with their host, no matter which one caused it. */
const LOSSES: ReadonlySet<Incident['type']> = new Set([
  'hang',
  'out_of_memory',
  'host_lost',
  'overdue',
  'unclean_end',
  'node_lost',
]);

/** An incident as a group counts it. */
export interface Counted {
  found: Pick<Incident, 'type' | 'reason' | 'suspect' | 'stack'>;
  cause: Cause;
  /** Id of its report; null when it has none. */
  id: string | null;
  at: number;
  times: number;
  /** The bots that ran there, as far as the report names them, and how many they were. */
  bots: readonly string[];
  botCount: number;
}

interface Group extends Omit<IncidentGroup, 'bots' | 'counts' | 'nodes' | 'bot_count'> {
  /** Bounded by MAX_GROUP_BOTS, and with those of other groups by MAX_ALL_BOTS. */
  bots: Set<string>;
  /** Bots whose ids were dropped. */
  nameless: number;
  moments: Moments;
}

export class IncidentGroups {
  /** By cause, that with the oldest last incident first. Bounded by MAX_GROUPS. */
  readonly #groups = new Map<string, Group>();
  #bots = 0;
  #forgotten = 0;
  /** Changed or dropped since {@link takeChanges}, which is called every few seconds while there are some. */
  #changed = new Set<string>();

  /** @param stored in any order. */
  constructor(stored: Iterable<StoredGroup> = []) {
    const all = [...stored].sort((a, b) => a.last_at_ms - b.last_at_ms);
    for (const { bots, bot_count, moments, ...group } of all) {
      const ids = new Set(bots === '' ? [] : bots.split(' '));
      this.#bots += ids.size;
      const nameless = bot_count - ids.size;
      this.#groups.set(group.cause, {
        ...group,
        bots: ids,
        nameless,
        moments: new Moments(moments),
      });
    }
    this.#bound();
    this.#changed.clear();
    this.#forgotten = 0;
  }

  add({ found, cause, id, at, times, bots, botCount }: Counted): void {
    const { type, reason, suspect } = found;
    const known = this.#groups.get(cause.cause);
    const group: Group = known ?? {
      ...cause,
      type,
      reason: '',
      count: 0,
      fallen: 0,
      first_at_ms: at,
      last_at_ms: at,
      latest: null,
      bots: new Set(),
      nameless: 0,
      moments: new Moments(),
    };
    group.reason = reason.slice(0, MAX_REASON_UNITS);
    group.count += times;
    if (LOSSES.has(type)) group.fallen += botCount * times;
    group.first_at_ms = Math.min(group.first_at_ms, at);
    group.last_at_ms = Math.max(group.last_at_ms, at);
    group.latest = id ?? group.latest;
    group.moments.add(at, times);
    for (const bot of suspect === null ? bots : [suspect]) this.#name(group, bot);
    // The newest group is at the end of the map.
    this.#groups.delete(cause.cause);
    this.#groups.set(cause.cause, group);
    this.#changed.add(cause.cause);
    this.#bound();
  }

  /** Counts reports that the groups do not know: of an earlier version, or of a run that was killed. */
  catchUp(incidents: Iterable<Incident>): void {
    const known = new Map([...this.#groups].map(([cause, group]) => [cause, group.last_at_ms]));
    for (const incident of incidents) {
      const counted = countedOf(incident);
      if (incident.at_ms <= (known.get(counted[0].cause.cause) ?? -1)) continue;
      for (const one of counted) this.add(one);
    }
  }

  /** The latest first. */
  list({ cause, after, before, limit }: GroupQuery): IncidentGroupList {
    const { from, stepMs, steps } = stepsOf(after, before);
    const asked = cause === null ? [...this.#groups.values()] : [this.#groups.get(cause)];
    const groups = asked
      .filter((group) => group !== undefined)
      .filter(({ first_at_ms, last_at_ms }) => last_at_ms >= after && first_at_ms < before)
      .reverse()
      .slice(0, limit)
      .map(({ bots, nameless, moments, ...group }) => ({
        ...group,
        bots: cause === null ? first(bots, LISTED_BOTS) : [...bots],
        bot_count: bots.size + nameless,
        counts: moments.counts(from, stepMs, steps),
      }));
    return { groups, from_ms: from, step_ms: stepMs, forgotten: this.#forgotten, missing: [] };
  }

  /** What has changed since the last call, by cause; undefined for a group that was dropped. */
  takeChanges(): Map<string, StoredGroup | undefined> {
    const changes = new Map([...this.#changed].map((cause) => [cause, this.#stored(cause)]));
    this.#changed = new Set();
    return changes;
  }

  /** Counts groups that could not be stored as changed. */
  giveBack(causes: Iterable<string>): void {
    for (const cause of causes) this.#changed.add(cause);
  }

  #stored(cause: string): StoredGroup | undefined {
    const group = this.#groups.get(cause);
    if (!group) return undefined;
    const { bots, nameless, moments, ...more } = group;
    const bot_count = bots.size + nameless;
    return { ...more, bots: [...bots].join(' '), bot_count, moments: moments.toJSON() };
  }

  /** Above the bound of a group its number of bots no longer grows: whether a bot is a new one cannot be known. */
  #name({ bots }: Group, bot: string): void {
    if (bots.has(bot) || bots.size >= MAX_GROUP_BOTS) return;
    bots.add(bot);
    this.#bots += 1;
  }

  #bound(): void {
    for (const [cause, group] of this.#groups) {
      const isSurplus = this.#groups.size > MAX_GROUPS;
      if (!isSurplus && this.#bots <= MAX_ALL_BOTS) return;
      this.#bots -= group.bots.size;
      this.#changed.add(cause);
      if (isSurplus) {
        this.#groups.delete(cause);
        this.#forgotten += 1;
        continue;
      }
      group.nameless += group.bots.size;
      group.bots.clear();
    }
  }
}

/** A report as {@link IncidentGroups.add} counts it: the first time, and its repetitions at the last one. */
export function countedOf(incident: Incident): [Counted, ...Counted[]] {
  const { id, at_ms, repeats, repeated_at_ms, bots, bot_count: botCount } = incident;
  const once = {
    found: incident,
    cause: causeOf(incident),
    id,
    at: at_ms,
    times: 1,
    bots,
    botCount,
  };
  if (repeats === 0) return [once];
  return [once, { ...once, at: repeated_at_ms ?? at_ms, times: repeats }];
}

/** The steps of a range: whole minutes, as few as fit GROUP_STEPS. The same on all nodes for the same range. */
function stepsOf(after: number, before: number): { from: number; stepMs: number; steps: number } {
  const from = Math.floor(after / MINUTE_MS) * MINUTE_MS;
  const length = Math.max(MINUTE_MS, before - from);
  const stepMs = Math.ceil(length / GROUP_STEPS / MINUTE_MS) * MINUTE_MS;
  return { from, stepMs, steps: Math.ceil(length / stepMs) };
}

function first<T>(values: Iterable<T>, count: number): T[] {
  const found: T[] = [];
  for (const value of values) {
    if (found.length === count) break;
    found.push(value);
  }
  return found;
}
