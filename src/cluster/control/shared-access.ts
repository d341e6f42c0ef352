// Runs in main. What fronts ask about tokens, tickets and sign-in links on a node of a cluster.

import { NODE_NAME } from '../../shared/contract/node-name.js';
import type { Handover } from '../../shared/contract/rpc.js';
import { DroverError } from '../../shared/errors.js';
import type { Controller } from '../cluster.js';
import type { Calls } from '../wire/calls.js';
import type { CallsToMembers } from './node-calls.js';
import type { Members } from './parts.js';
import { type Input, type Output, plain } from './served-methods.js';
import type { TokenSync } from './token-sync.js';

/** For another node to redeem a ticket or a link, in ms. */
const REDEEM_MS = 2000;
/** Between a ticket or a link and the name of its node: neither has one. */
const SEPARATOR = '.';

export interface SharedAccessParts {
  members: Pick<Members, 'self' | 'get'>;
  calls: Calls;
  others: Pick<CallsToMembers, 'call'>;
  tokens: Pick<TokenSync, 'revoke'>;
}

type SharedMethods =
  | 'revokeToken'
  | 'createTicket'
  | 'redeemTicket'
  | 'createLink'
  | 'checkLink'
  | 'takeLink';

/** Tickets and links name their node, which is asked: so each works only once, on any node. */
export function sharedAccess(
  local: Pick<Controller, SharedMethods>,
  { members, calls, others, tokens }: SharedAccessParts,
): Pick<Controller, SharedMethods> {
  calls.serve({
    redeemTicket: (input: Input<'redeemTicket'>) => local.redeemTicket(input),
    checkLink: (input: Input<'checkLink'>) => local.checkLink(input),
    takeLink: (input: Input<'takeLink'>) => local.takeLink(input),
  });
  const named = (code: string): string => code + SEPARATOR + members.self;
  /** Asks the node that a code names. @returns undefined for what is no code of the cluster. */
  const atNodeOf = <T>(
    code: string,
    here: (code: string) => T | Handover<T> | Promise<T | Handover<T>>,
    there: (node: string, code: string) => Promise<T>,
  ): T | Handover<T> | Promise<T | Handover<T>> | undefined => {
    const at = code.indexOf(SEPARATOR);
    const [own, node] = [code.slice(0, at), code.slice(at + 1)];
    if (at === -1 || !NODE_NAME.test(node)) return undefined;
    if (node === members.self) return here(own);
    return members.get(node) ? there(node, own) : undefined;
  };
  const ofLink = <K extends 'checkLink' | 'takeLink'>(method: K, input: Input<K>) => {
    const answer = atNodeOf<Output<K>>(
      input.link,
      (link) => local[method]({ link }) as Output<K>,
      (node, link) => others.call<Output<K>>(node, method, { link }, REDEEM_MS),
    );
    if (answer === undefined) throw new DroverError('invalid_link');
    return answer;
  };
  return {
    revokeToken: ({ id, by }) => tokens.revoke(id, by),
    async createTicket(input) {
      const { ticket, expires_at_ms } = await plain<Output<'createTicket'>>(
        local.createTicket(input),
      );
      return { ticket: named(ticket), expires_at_ms };
    },
    redeemTicket: ({ ticket: code }) =>
      atNodeOf<Output<'redeemTicket'>>(
        code,
        (ticket) => local.redeemTicket({ ticket }),
        (node, ticket) => others.call(node, 'redeemTicket', { ticket }, REDEEM_MS),
      ) ?? { token: null },
    async createLink(input) {
      const { link, expires_at_ms } = await plain<Output<'createLink'>>(local.createLink(input));
      return { link: named(link), expires_at_ms };
    },
    checkLink: (input) => ofLink('checkLink', input),
    takeLink: (input) => ofLink('takeLink', input),
  };
}
