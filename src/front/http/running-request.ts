// Runs in a front thread. Owns the listener for requests: nearly all that may block a front is done for one.

import { blockLoop } from '../../shared/block-loop.js';
import type { FrontBlock } from '../../shared/contract/slow-turn.js';
import { nowRuns } from '../../shared/turn.js';
import type { Exchange } from '../engine/engine.js';
import { redactTarget } from './redact-target.js';

type Named = Pick<Exchange, 'method' | 'path' | 'token'>;

/** Longest method, in characters: clients can send any. */
const MAX_METHOD = 16;

let listener: () => void = () => {};
let drill: FrontBlock | undefined;

/** Calls `next` before code of a request runs; it replaces the last one. */
export function watchRequests(next: () => void): void {
  listener = next;
}

/** Code of this request runs from now on: it has arrived, or its body has. */
export function requestRuns(exchange: Named): void {
  listener();
  nowRuns(exchange);
}

/** For drills: the next request blocks the loop. */
export function blockNext(block: FrontBlock): void {
  drill = block;
}

/** A request has come so far. */
export function reached(at: FrontBlock['at']): void {
  if (drill?.at !== at) return;
  const block = drill;
  drill = undefined;
  blockLoop(block);
}

/** A request for the operator, without its query, which may have a token. @param pin hidden wherever it appears. */
export function describeRequest(request: object, pin: string | null): string {
  const { method, path, token } = request as Named;
  const target = redactTarget(path, '', pin);
  return `${method.slice(0, MAX_METHOD)} ${target}${token === undefined ? '' : ` with the token ${token}`}`;
}
