import type { CallBounds, Rpc } from '../../shared/contract/rpc.js';
import type { ControlMethods, FrontMethods } from '../../shared/contract/threads.js';

/** The calls that routes make to main. A test passes an object with these two methods. */
export type Control = Pick<Rpc<FrontMethods, ControlMethods>, 'call' | 'cancellableCall'>;

/** Calls to main beyond those of bots, for {@link controlBounds}. */
const RESERVED_CALLS = 100;
/** Stops and deletions of bots beyond all others, for {@link controlBounds}. */
const RELIEF_CALLS = 100;

/**
 * Bounds the calls to main that wait for an answer: each holds a body in memory here and work in main. A call above the
 * bound gets 503 with `Retry-After`. Responses that the front gives by itself (`/health`, lists, streams) do not count.
 *
 * Bots decide how long their calls take. The first reserve keeps the calls that main answers by itself available meanwhile:
 * logins, revocations, reports on pressure, channels to hosts, where commands go. The second one is for what ends such bots: a bot must not keep its own stop away.
 */
export function controlBounds(maxInFlight: number): CallBounds<ControlMethods> {
  return {
    open: maxInFlight,
    reserves: [
      {
        calls: RESERVED_CALLS,
        methods: new Set([
          'createPinToken',
          'createToken',
          'createLink',
          'checkLink',
          'takeLink',
          'createLinkToken',
          'tokens',
          'revokeToken',
          'createTicket',
          'redeemTicket',
          'pressure',
          'readiness',
          'hosts',
          'metrics',
          'nodes',
          'connectHost',
          'commandTargets',
        ]),
      },
      { calls: RELIEF_CALLS, methods: new Set(['endBot', 'endMany', 'changeOperation']) },
    ],
  };
}
