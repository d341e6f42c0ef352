// Pure. Decides which node a bot goes to.

import type { BotSpec } from '../../shared/contract/bots.js';
import { hasLabels } from '../../shared/contract/labels.js';
import type { Member, PlacementInput } from './parts.js';

/** What a bot asks of a node. */
export type PlaceWish = Pick<PlacementInput, 'kind' | 'node' | 'node_labels' | 'needs_key'>;

/** What is known of a node. */
export type Candidate = Pick<
  Member,
  'node' | 'labels' | 'kinds' | 'capacity' | 'isLive' | 'wanted' | 'has_key'
> & {
  /** Bots that it was given. */
  bots: number;
};

export type Choice = { node: string } | { reason: string };

/** MB of memory that count as much as a core. */
const MB_A_CORE = 1024;

/**
 * The node with most room among those that fit.
 * @param group the node that has the other bots of its host group: they share a bot host, so it is this one or none.
 */
export function choose(
  wish: PlaceWish,
  candidates: readonly Candidate[],
  group: string | null = null,
): Choice {
  const { node, node_labels: labels, kind, needs_key: needsKey = false } = wish;
  const open = candidates.filter(({ isLive, wanted }) => isLive && wanted === 'live');
  if (open.length === 0)
    return { reason: 'no node takes bots: all are lost, cordoned or draining' };
  if (node !== undefined && !open.some((candidate) => candidate.node === node)) {
    return { reason: `the node ${node} ${standing(node, candidates)}` };
  }
  const named = open.filter((candidate) => node === undefined || candidate.node === node);
  const labelled = named.filter((candidate) => !labels || hasLabels(candidate.labels, labels));
  if (labelled.length === 0) {
    return { reason: `no node that takes bots has the labels ${JSON.stringify(labels)}` };
  }
  const able = labelled.filter(({ kinds }) => kinds.includes(kind));
  const which = node === undefined ? 'no node that it may run on has' : `the node ${node} has not`;
  if (able.length === 0) return { reason: `${which} the bot kind ${kind}` };
  const readers = able.filter((candidate) => canRead(candidate, needsKey));
  if (readers.length === 0) {
    return { reason: `${which} the key of its secrets (cluster.secret_key_file)` };
  }
  const fitting = readers.filter((candidate) => group === null || candidate.node === group);
  if (fitting.length === 0) {
    return { reason: `its host group is on the node ${group}, which does not take it` };
  }
  const [best] = [...fitting].sort((a, b) => load(a) - load(b) || (a.node < b.node ? -1 : 1));
  return best ? { node: best.node } : { reason: 'there is no node' };
}

/** Whether a bot may stay on a node that has it. */
export function suits(
  { node, node_labels: labels }: PlaceWish,
  on: Pick<Candidate, 'node' | 'labels'>,
): boolean {
  if (node !== undefined) return node === on.node;
  return !labels || hasLabels(on.labels, labels);
}

/** Whether a node can read the secrets of a bot that is given to it. */
export function canRead(
  { has_key: hasKey }: Pick<Candidate, 'has_key'>,
  needsKey: boolean,
): boolean {
  return hasKey || !needsKey;
}

/** Bots for each core and its memory, whichever there is less of. */
export function load({ bots, capacity }: Pick<Candidate, 'bots' | 'capacity'>): number {
  const { cores, memory_mb: memory } = capacity;
  return bots / Math.max(Math.min(cores, memory / MB_A_CORE), 0.01);
}

function standing(node: string, candidates: readonly Candidate[]): string {
  const named = candidates.find((candidate) => candidate.node === node);
  if (!named) return 'is not in the cluster';
  if (!named.isLive) return 'is lost';
  return named.wanted === 'draining' ? 'gives its bots away' : 'takes no new bots';
}

/** Bots that move together: those of a group, or one. */
export interface Unit {
  ids: string[];
  from: string;
  to: string;
}

/** A bot with where it is. */
export type PlacedBot = PlaceWish & Pick<BotSpec, 'id' | 'host_group'> & { on: string };

/**
 * What makes the nodes as full as each other: from the fullest to the emptiest that may have them, until no move helps. Bots that name a
 * node stay.
 */
export function rebalanced(bots: readonly PlacedBot[], candidates: readonly Candidate[]): Unit[] {
  const nodes = candidates.map((candidate) => ({ ...candidate }));
  const left = new Map(nodes.map(({ node }) => [node, [] as PlacedBot[][]]));
  for (const unit of unitsOf(bots.filter(({ node }) => node === undefined))) {
    left.get(unit[0]?.on ?? '')?.push(unit);
  }
  const units: Unit[] = [];
  for (;;) {
    const [from] = nodes
      .filter(({ node }) => left.get(node)?.length)
      .sort((a, b) => load(b) - load(a));
    const unit = from && left.get(from.node)?.pop();
    if (!unit) return units;
    const others = nodes.filter((other) => other !== from);
    const choices = new Set(unit.map((bot) => JSON.stringify(choose(bot, others))));
    const to = others.find(({ node }) => choices.has(JSON.stringify({ node })));
    if (!to || choices.size > 1) continue;
    const size = unit.length;
    // Only if the target is no fuller then than the source: else it would go back with the next rebalance.
    const after = load({ ...to, bots: to.bots + size });
    if (after > load({ ...from, bots: from.bots - size })) continue;
    from.bots -= size;
    to.bots += size;
    units.push({ ids: unit.map(({ id }) => id), from: from.node, to: to.node });
  }
}

/** Groups as one, other bots alone. */
export function unitsOf<B extends Pick<PlacedBot, 'id' | 'host_group'>>(bots: readonly B[]): B[][] {
  const units = new Map<string, B[]>();
  for (const bot of bots) {
    const name = bot.host_group === undefined ? `bot ${bot.id}` : `group ${bot.host_group}`;
    const unit = units.get(name);
    if (unit) unit.push(bot);
    else units.set(name, [bot]);
  }
  return [...units.values()];
}
