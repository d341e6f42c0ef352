// Runs in main. What fronts ask about tokens and tickets on a node of a cluster.

import { NODE_NAME } from '../../shared/cluster/names.js';
import type { CallsToMembers } from './node-calls.js';
import type { Calls, Members } from './parts.js';
import { type Controller, type Input, type Output, plain } from './served-methods.js';
import type { TokenSync } from './token-sync.js';

/** For another node to redeem a ticket, in ms. */
const REDEEM_MS = 2000;
/** Between a ticket and the name of its node: neither has one. */
const SEPARATOR = '.';

export interface SharedAccessParts {
  members: Pick<Members, 'self' | 'get'>;
  calls: Calls;
  others: Pick<CallsToMembers, 'call'>;
  tokens: Pick<TokenSync, 'revoke'>;
}

type SharedMethods = 'revokeToken' | 'createTicket' | 'redeemTicket';

/** A ticket names its node, which is asked: so it works only once, on any node. */
export function sharedAccess(
  local: Pick<Controller, SharedMethods>,
  { members, calls, others, tokens }: SharedAccessParts,
): Pick<Controller, SharedMethods> {
  calls.serve({ redeemTicket: (input: Input<'redeemTicket'>) => local.redeemTicket(input) });
  return {
    revokeToken: ({ id, by }) => tokens.revoke(id, by),
    async createTicket(input) {
      const { ticket, expires_at_ms } = await plain<Output<'createTicket'>>(
        local.createTicket(input),
      );
      return { ticket: ticket + SEPARATOR + members.self, expires_at_ms };
    },
    redeemTicket(input) {
      const at = input.ticket.indexOf(SEPARATOR);
      const [ticket, node] = [input.ticket.slice(0, at), input.ticket.slice(at + 1)];
      // What is no ticket of the cluster.
      if (at === -1 || !NODE_NAME.test(node)) return { token: null };
      if (node === members.self) return local.redeemTicket({ ticket });
      if (!members.get(node)) return { token: null };
      return others.call<Output<'redeemTicket'>>(node, 'redeemTicket', { ticket }, REDEEM_MS);
    },
  };
}
