// In main. The answer of `GET /api/nodes`.

import type { ClusterNode, NodeList } from '../../shared/contract/nodes.js';
import type { Member, Members } from './parts.js';

/** @param own this node as it is now: what the others see of it is as old as its last renewal. */
export function nodeList(
  members: Members,
  own: Member,
  cluster: string,
  { state, reason }: Pick<NodeList, 'state' | 'reason'>,
): NodeList {
  const others = members.all().filter(({ node }) => node !== own.node);
  const nodes = [own, ...others].map((member) => clusterNode(member, members));
  nodes.sort((a, b) => (a.node < b.node ? -1 : 1));
  return { cluster, state, reason, nodes };
}

export function clusterNode(member: Member, { self, leader }: Members): ClusterNode {
  const {
    v: _v,
    id: _id,
    incarnation: _incarnation,
    has_key: _key,
    shares_incidents: _shares,
    events_stalled: _stalled,
    wanted,
    isLive,
    ...shown
  } = member;
  return {
    ...shown,
    state: isLive ? wanted : 'lost',
    is_self: member.node === self,
    is_leader: member.node === leader,
  };
}
