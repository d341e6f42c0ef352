// What has changed in a cluster between two looks at it, in lines: pure.

import type { BotSnapshot, NodeList } from '../../client/index.js';

export interface ClusterLook {
  list: NodeList;
  bots: readonly BotSnapshot[];
}

/** One line for each change. Without an earlier look everything is new. */
export function changesOf(before: ClusterLook | null, now: ClusterLook): string[] {
  return [...stateChanges(before, now), ...nodeChanges(before, now), ...botChanges(before, now)];
}

function stateChanges(before: ClusterLook | null, { list }: ClusterLook): string[] {
  const { state, reason } = list;
  if (before?.list.state === state && before.list.reason === reason) return [];
  const why = reason === null ? '' : `: ${reason}`;
  return [`the cluster is ${state.replace('_', ' ')}${why}`];
}

function nodeChanges(before: ClusterLook | null, { list }: ClusterLook): string[] {
  const was = new Map(before?.list.nodes.map((node) => [node.node, node]));
  const lines: string[] = [];
  for (const { node, state, is_leader: isLeader } of list.nodes) {
    const old = was.get(node);
    was.delete(node);
    if (old?.state !== state) lines.push(`${node} is ${state}`);
    if (isLeader && !old?.is_leader) lines.push(`${node} leads`);
  }
  return [...lines, ...[...was.keys()].map((node) => `${node} has left`)];
}

function botChanges(before: ClusterLook | null, { bots }: ClusterLook): string[] {
  const was = new Map(before?.bots.map((bot) => [bot.id, bot]));
  return bots.flatMap(({ id, status, node }) => {
    const old = was.get(id);
    const where = node === undefined ? '' : ` on ${node}`;
    if (old?.node !== node && old?.node !== undefined) {
      return [`${id} moved from ${old.node} to ${node ?? 'no node'}: ${status}`];
    }
    return old?.status === status ? [] : [`${id} is ${status}${where}`];
  });
}
