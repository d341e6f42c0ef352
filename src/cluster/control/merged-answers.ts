// Pure. Makes one answer of those of several nodes; the first is that of the node that was asked.

import type {
  Incident,
  KindList,
  KindReleased,
  ListedVersion,
  ReloadedKinds,
} from '../../shared/contract/bots.js';
import type { HostList } from '../../shared/contract/hosts.js';
import {
  type GroupQuery,
  type IncidentGroup,
  type IncidentGroups,
  LISTED_BOTS,
} from '../../shared/contract/incident-groups.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { causeOf } from '../../shared/incidents/cause.js';

type Answers<T> = readonly PromiseSettledResult<T>[];
export interface Incidents {
  incidents: Incident[];
}

/** The numbers of bot hosts count on each node. */
export function ofNode(node: string, { incidents }: Incidents): Incidents {
  return { incidents: incidents.map((incident) => ({ ...incident, node })) };
}

export function groupsOfNode(node: string, answer: IncidentGroups): IncidentGroups {
  return { ...answer, groups: answer.groups.map((group) => ({ ...group, nodes: [node] })) };
}

export function hostsOfNode(node: string, { hosts, missing }: HostList): HostList {
  return { hosts: hosts.map((host) => ({ ...host, node })), missing };
}

/** By node. @param nodes those that were asked, in the order of the answers. */
export function mergeHosts(answers: Answers<HostList>, nodes: readonly string[]): HostList {
  const hosts = fulfilled(answers).flatMap((list) => list.hosts);
  return {
    hosts: hosts.toSorted((a, b) => compareNames(a.node ?? '', b.node ?? '')),
    missing: nodes.filter((_, at) => answers[at]?.status === 'rejected'),
  };
}

/** Apart from the counts, a group is that of the node where it happened last. @param missing nodes that are not counted. */
export function mergeIncidentGroups(
  answers: Answers<IncidentGroups>,
  missing: string[],
  { cause, limit }: Pick<GroupQuery, 'cause' | 'limit'>,
): IncidentGroups {
  const lists = fulfilled(answers);
  const groups = new Map<string, IncidentGroup>();
  for (const group of lists.flatMap((list) => list.groups)) {
    const known = groups.get(group.cause);
    groups.set(group.cause, known ? mergeGroup(known, group, cause !== null) : group);
  }
  return {
    groups: [...groups.values()].sort((a, b) => b.last_at_ms - a.last_at_ms).slice(0, limit),
    // Of this node, which always answers; others have cut the same range into the same steps.
    from_ms: lists[0]?.from_ms ?? 0,
    step_ms: lists[0]?.step_ms ?? 0,
    forgotten: lists.reduce((sum, { forgotten }) => sum + forgotten, 0),
    missing,
  };
}

/** @param isWhole whether all bots are named: then one that was on both nodes counts once. */
function mergeGroup(one: IncidentGroup, other: IncidentGroup, isWhole: boolean): IncidentGroup {
  const [older, newer] = one.last_at_ms <= other.last_at_ms ? [one, other] : [other, one];
  const bots = [...new Set([...newer.bots, ...older.bots])];
  const nameless = one.bot_count - one.bots.length + other.bot_count - other.bots.length;
  return {
    ...newer,
    count: one.count + other.count,
    bots: isWhole ? bots : bots.slice(0, LISTED_BOTS),
    bot_count: isWhole ? bots.length + nameless : one.bot_count + other.bot_count,
    fallen: one.fallen + other.fallen,
    first_at_ms: Math.min(one.first_at_ms, other.first_at_ms),
    latest: newer.latest ?? older.latest,
    counts: one.counts.map((count, at) => count + (other.counts[at] ?? 0)),
    nodes: [...new Set([...(one.nodes ?? []), ...(other.nodes ?? [])])].sort(),
  };
}

/** Newest first. */
export function mergeIncidents(
  answers: Answers<Incidents>,
  { cause, limit }: { cause?: string | undefined; limit: number },
): Incidents {
  const all = fulfilled(answers)
    .flatMap(({ incidents }) => incidents)
    // Of a node of an earlier version, which returns all.
    .map((incident): Incident => {
      const { cause = causeOf(incident).cause, last_lines_at_ms = [] } =
        incident as Partial<Incident> & typeof incident;
      return { ...incident, cause, last_lines_at_ms };
    })
    .filter((incident) => cause === undefined || incident.cause === cause);
  return { incidents: all.toSorted((a, b) => b.at_ms - a.at_ms).slice(0, limit) };
}

/** A kind is listed once. It is quarantined, or changed, where it is on any node. */
export function mergeKinds(answers: Answers<KindList>): KindList {
  const lists = fulfilled(answers);
  const kinds = new Map<string, KindList['kinds'][number]>();
  for (const info of lists.flatMap((list) => list.kinds)) {
    const known = kinds.get(info.kind);
    if (known) {
      const quarantine = known.quarantine ?? info.quarantine;
      const changed = known.changed || info.changed;
      const versions = mergeVersions([...known.versions, ...info.versions]);
      kinds.set(info.kind, { ...known, quarantine, changed, versions });
    } else kinds.set(info.kind, info);
  }
  const failed = new Map(
    lists.flatMap((list) => list.failed).map((one) => [`${one.module}\0${one.error}`, one]),
  );
  return { kinds: [...kinds.values()], failed: [...failed.values()] };
}

function mergeVersions(all: readonly ListedVersion[]): ListedVersion[] {
  const versions = new Map<string, ListedVersion>();
  for (const one of all) {
    const { bots = 0, is_current = false } = versions.get(one.version) ?? {};
    const merged = { bots: bots + one.bots, is_current: is_current || one.is_current };
    versions.set(one.version, { ...one, ...merged });
  }
  return [...versions.values()].sort((a, b) => Number(b.is_current) - Number(a.is_current));
}

/** @param nodes the others, in the order of their answers. @throws DroverError when this node has changed nothing. */
export function mergeReloaded(
  [own, ...others]: Answers<ReloadedKinds>,
  nodes: readonly string[],
): ReloadedKinds {
  if (own?.status !== 'fulfilled') throw own?.reason;
  const of = nodes.map((node, at): [string, NonNullable<ReloadedKinds['nodes']>[string]] => {
    const answer = others[at];
    if (answer?.status !== 'fulfilled') return [node, { error: messageOf(answer?.reason) }];
    const versions = answer.value.kinds.map(({ kind, version }) => [kind, version]);
    return [node, { versions: Object.fromEntries(versions) }];
  });
  return { ...own.value, nodes: Object.fromEntries(of) };
}

/** @param nodes those that were asked, in the order of the answers. @throws DroverError when no node has released it. */
export function sumReleased(
  answers: Answers<KindReleased>,
  nodes: readonly string[],
): KindReleased {
  const missing = nodes.filter((_, at) => isMissing(answers[at]));
  const released = fulfilled(answers);
  const [first] = answers;
  if (released.length === 0 && first?.status === 'rejected') {
    if (missing.length === 0) throw first.reason;
    const unknown = `no answer from node ${missing.join(', ')}`;
    throw new DroverError('unavailable', `${messageOf(first.reason)}; ${unknown}`);
  }
  return { started: released.reduce((sum, { started }) => sum + started, 0), missing };
}

/** It has not said that it does not have the kind, or does not hold it. */
function isMissing(answer: PromiseSettledResult<unknown> | undefined): boolean {
  if (answer?.status !== 'rejected') return false;
  const { code } = answer.reason as Partial<DroverError>;
  return code !== 'not_found' && code !== 'conflict';
}

function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function fulfilled<T>(answers: Answers<T>): T[] {
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
}
