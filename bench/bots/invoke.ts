import type { Route } from '../http/routes.js';
import { botId } from './hosts.js';

/** One form of `POST /invoke`. */
function invocation(
  id: string,
  title: string,
  connections: number,
  body: { session_id: string | null; command: string; args: object },
  result: unknown,
): Route {
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
  };
}

const CONNECTIONS = 50;
const ping = { session_id: null, command: 'ping', args: {} };
const echo = { session_id: botId(0), command: 'echo', args: { text: 'hello' } };

export const ECHO_ALONE = invocation('echo-alone', 'echo, one at a time', 1, echo, {
  said: 'hello',
});
export const INVOCATIONS: readonly Route[] = [
  invocation('ping', 'ping, answered by main', CONNECTIONS, ping, 'pong'),
  invocation('echo', 'echo, answered by a bot', CONNECTIONS, echo, { said: 'hello' }),
  ECHO_ALONE,
];
