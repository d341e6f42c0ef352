// Pure. What was changed by hand of a bot that belongs to a fleet.

import { createHash } from 'node:crypto';
import type { BotSpec, FleetMark } from '../../shared/contract/bots.js';
import { BOT_PARTS, type BotParts } from '../../shared/contract/config-changes.js';
import type { BotSnapshot } from '../../shared/contract/events.js';
import type { Json } from '../../shared/contract/json.js';
import { canonical } from '../../shared/contract/secrets.js';
import { changedKeys } from './config-change.js';

/** Changed values that are kept of a bot. Above it further ones are not named; the drift is shown all the same. */
const MAX_DRIFT = 100;

/** `config.url`, `labels.team`, `restart.policy`; fields of the bot itself by their name, such as `host_group`. */
export function pathOf(part: keyof BotParts, key: string): string {
  return part === 'placement' ? key : `${part}.${key}`;
}

/** The mark after a change by hand. A value that is again what the fleet had given is no drift. */
export function markChanged(
  mark: FleetMark,
  before: BotParts,
  after: BotParts,
  secrets: readonly string[],
): FleetMark {
  const drift = new Map(Object.entries(mark.drift ?? {}));
  for (const part of BOT_PARTS) {
    for (const [key, { from, to }] of Object.entries(changedKeys(before[part], after[part]))) {
      note(drift, pathOf(part, key), digestOf(from), digestOf(to));
    }
  }
  for (const path of secrets) note(drift, `config.${path}`, '', null);
  return withDrift(mark, drift);
}

/** The same for a start or a stop by hand: there are two desired states. */
export function markDesired(
  mark: FleetMark,
  from: BotSpec['desired'],
  to: BotSpec['desired'],
): FleetMark {
  const drift = new Map(Object.entries(mark.drift ?? {}));
  note(drift, 'desired', from, to);
  return withDrift(mark, drift);
}

function note(drift: Map<string, string>, path: string, from: string, to: string | null): void {
  const given = drift.get(path);
  if (given !== undefined && given === to) drift.delete(path);
  else if (given === undefined && drift.size < MAX_DRIFT) drift.set(path, from);
}

function withDrift({ name }: FleetMark, drift: ReadonlyMap<string, string>): FleetMark {
  return drift.size === 0 ? { name } : { name, drift: Object.fromEntries(drift) };
}

/** @param value without secrets: the mark is part of what a cluster shares. */
function digestOf(value: Json | undefined): string {
  if (value === undefined) return 'none';
  return createHash('sha256').update(canonical(value)).digest('base64url').slice(0, 16);
}

export function driftOf({ fleet }: Pick<BotSpec, 'fleet'>): string[] {
  return Object.keys(fleet?.drift ?? {});
}

/** What the snapshot says of it: nothing for a bot without a fleet. Undefined ends what an earlier one has said. */
export function shownFleet(spec: Pick<BotSpec, 'fleet'>): Pick<BotSnapshot, 'fleet' | 'drift'> {
  if (!spec.fleet) return {};
  return { fleet: spec.fleet.name, drift: driftOf(spec).length > 0 ? true : undefined };
}
