import { NOT_JOINED } from '../../shared/contract/node-name.js';
import { DroverError } from '../../shared/errors.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { Exchange } from '../engine/engine.js';
import { jsonResponse } from '../engine/responses.js';
import type { Views } from '../views/views.js';
import type { Control } from './control.js';

/** How long main has to answer, in ms: load balancers ask with little patience. */
const ANSWER_MS = 2000;
/** How long an answer counts, in ms: anyone may ask, and main is asked no more often. */
const FRESH_MS = 500;
const RETRY_S = 1;
const READY = jsonResponse(JSON.stringify({ status: 'ready' }));

/** `GET /ready`, as main sees it: one question to main at a time, for all that ask meanwhile. */
export function readyRoute(
  control: Pick<Control, 'call'>,
  views: Pick<Views, 'isWithoutCluster'>,
): (exchange: Exchange) => Promise<void> {
  let asked: Promise<string | null> | undefined;
  const ask = async (): Promise<string | null> => {
    const answer = control.call('readiness', null).then(
      ({ reason }) => reason,
      ({ message }: Error) => message,
    );
    return withTimeout(answer, ANSWER_MS, () => 'main does not answer');
  };
  return async (exchange) => {
    asked ??= ask().finally(() => {
      setTimeout(() => {
        asked = undefined;
      }, FRESH_MS).unref();
    });
    const reason = (await asked) ?? (views.isWithoutCluster ? NOT_JOINED : null);
    if (reason !== null) throw new DroverError('unavailable', reason, RETRY_S);
    exchange.respond(READY);
  };
}
