import type { Route } from '../http/routes.js';
import { botId } from './api.js';

/** One form of `POST /invoke`. */
export interface Invocation extends Route {
  /** Only with the demo world. */
  needsWorld: boolean;
}

function invocation(
  id: string,
  title: string,
  connections: number,
  body: { session_id: string | null; command: string; args: object },
  result: unknown,
  needsWorld = false,
): Invocation {
  const right = JSON.stringify({ result });
  const sent = JSON.stringify(body);
  return {
    id,
    title: `POST /invoke, ${title}`,
    method: 'POST',
    path: '/invoke',
    authorized: true,
    body: () => sent,
    connections,
    statuses: [200],
    fault: ({ status, text }) =>
      status === 200 && text === right ? undefined : `not 200 ${right}`,
    needsWorld,
  };
}

const CONNECTIONS = 50;
const ping = { session_id: null, command: 'ping', args: {} };
const echo = { session_id: botId(0), command: 'echo', args: { text: 'hello' } };
const move = { session_id: 'demo-1', command: 'move', args: { x: 5, y: 7 } };

export const INVOCATIONS: readonly Invocation[] = [
  invocation('ping', 'ping, answered by main', CONNECTIONS, ping, 'pong'),
  invocation('echo', 'echo, answered by a bot', CONNECTIONS, echo, { said: 'hello' }),
  invocation('echo-alone', 'echo, one at a time', 1, echo, { said: 'hello' }),
  // One at a time: a demo bot resolves all waiting commands with the world's first reply.
  invocation('move-alone', 'move, answered by the world, one at a time', 1, move, move.args, true),
];
