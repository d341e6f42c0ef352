// The line on the stream about the outcome of a command. The thread that decides the outcome writes it: a bot host, or main.

import type { LogItem } from './events.js';
import { messageJson } from './line-text.js';
import { DISPATCH_SCOPE } from './scopes.js';

/** Length of a result on the stream, in UTF-16 units. */
const SHOWN_UNITS = 512;

/** @param session the bot, null for the service. @param result as JSON. */
export function resultLine(session: string | null, command: string, result: string): LogItem {
  return dispatchLine('info', session, `${command} -> ${result}`);
}

export function failureLine(session: string | null, command: string, reason: string): LogItem {
  return dispatchLine('error', session, `${command} failed: ${reason}`);
}

/** Shows results, but no arguments: they may hold secrets. */
function dispatchLine(level: LogItem['level'], session: string | null, line: string): LogItem {
  const message = line.length > SHOWN_UNITS ? `${line.slice(0, SHOWN_UNITS)}…` : line;
  return {
    kind: 'log',
    timestamp_ms: Date.now(),
    level,
    scope: DISPATCH_SCOPE,
    session_id: session,
    transport: null,
    direction: null,
    message_json: messageJson(message),
  };
}
