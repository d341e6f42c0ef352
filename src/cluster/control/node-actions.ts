// In main. What is asked of nodes: each keeps its own record, so it is asked itself.

import type { ClusterNode, NodeAction } from '../../shared/contract/nodes.js';
import { DroverError } from '../../shared/errors.js';
import type { Calls } from '../wire/calls.js';
import { NodeUnreachable } from '../wire/calls.js';
import type { Members, NodeRecord } from './parts.js';

/** How long a node has to answer, in ms. */
const ANSWER_MS = 5000;

const WANTED: Readonly<Record<NodeAction, NodeRecord['wanted']>> = {
  cordon: 'cordoned',
  uncordon: 'live',
  drain: 'draining',
};

interface Want {
  wanted: NodeRecord['wanted'];
}

export class NodeActions {
  readonly #members: Pick<Members, 'self' | 'get'>;
  readonly #calls: Calls;
  readonly #want: (wanted: NodeRecord['wanted']) => Promise<ClusterNode>;

  /** @param want does it on this node (Membership.want). */
  constructor(
    members: Pick<Members, 'self' | 'get'>,
    calls: Calls,
    want: (wanted: NodeRecord['wanted']) => Promise<ClusterNode>,
  ) {
    this.#members = members;
    this.#calls = calls;
    this.#want = want;
    calls.serve({ want: ({ wanted }: Want) => want(wanted) });
  }

  /** @returns the node as it is then. @throws DroverError `not_found`; `unavailable` when it is lost or does not answer */
  async act(node: string, action: NodeAction): Promise<ClusterNode> {
    const wanted = WANTED[action];
    if (node === this.#members.self) return await this.#want(wanted);
    const member = this.#members.get(node);
    if (!member) throw new DroverError('not_found', `no node ${node}`);
    if (!member.isLive) throw new NodeUnreachable(node, 'its lease has run out');
    const answer = await this.#calls.call(node, 'want', { wanted } satisfies Want, ANSWER_MS);
    // It says so of itself; here it is another node.
    return { ...(answer as ClusterNode), is_self: false };
  }
}
