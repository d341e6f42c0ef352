// Pure. Makes one answer of those of several nodes; the first is that of the node that was asked.

import type { Incident, KindList, KindReleased } from '../../shared/contract/bots.js';
import type { HostList } from '../../shared/contract/hosts.js';

type Answers<T> = readonly PromiseSettledResult<T>[];
export interface Incidents {
  incidents: Incident[];
}

/** The numbers of bot hosts count on each node. */
export function ofNode(node: string, { incidents }: Incidents): Incidents {
  return { incidents: incidents.map((incident) => ({ ...incident, node })) };
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

/** Newest first. Those of a node that does not answer are missing. */
export function mergeIncidents(answers: Answers<Incidents>, limit: number): Incidents {
  const all = fulfilled(answers).flatMap(({ incidents }) => incidents);
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
      kinds.set(info.kind, { ...known, quarantine, changed: known.changed || info.changed });
    } else kinds.set(info.kind, info);
  }
  const failed = new Map(
    lists.flatMap((list) => list.failed).map((one) => [`${one.module}\0${one.error}`, one]),
  );
  return { kinds: [...kinds.values()], failed: [...failed.values()] };
}

/** @throws the first error when no node has released it. */
export function sumReleased(answers: Answers<KindReleased>): KindReleased {
  const released = fulfilled(answers);
  const [first] = answers;
  if (released.length === 0 && first?.status === 'rejected') throw first.reason;
  return { started: released.reduce((sum, { started }) => sum + started, 0) };
}

function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function fulfilled<T>(answers: Answers<T>): T[] {
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
}
