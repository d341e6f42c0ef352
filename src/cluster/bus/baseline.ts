// Runs in the bus thread. A node that joins takes the state of another: what it has counted, and the snapshot of every bot, as of one
// message of the stream. So it reads on from there, and is like the others.

import { DroverError } from '../../shared/errors.js';
import { checkNamed, parseJson, parseNamed } from '../wire/bus-validators.js';
import { NO_ANSWER } from '../wire/call-server.js';
import type { NodeCalls } from '../wire/calls.js';
import { EVERYONE } from '../wire/names.js';
import type { Total } from './block.js';

/** How long another node may take to say that it is there, and to send its state, in ms. */
const WHO_MS = 1000;
const STATE_MS = 10_000;

export interface Baseline extends Total {
  epoch: string;
  /** The last message of each node up to there, as far as is known. Earlier releases do not say it. */
  last?: Record<string, number>;
  /** JSON of `session` events. */
  sessions: string[];
}

/** Answers other nodes. @param state what this node has; null while it has nothing. @returns a function that ends it. */
export function serveBaseline(
  calls: NodeCalls,
  node: string,
  state: () => Baseline | null,
): () => void {
  calls.serve({
    baseline() {
      const baseline = state();
      if (!baseline) throw new DroverError('unavailable', 'it has not joined');
      return Buffer.from(JSON.stringify(baseline));
    },
  });
  calls.serve({ who: () => (state() ? { node } : NO_ANSWER) }, EVERYONE);
  // A node that joins must not wait for its own answer: when it is alone, NATS says so at once.
  return () => calls.pause(EVERYONE);
}

/** The state of any node that answers; null when none does. */
export async function askBaseline(calls: NodeCalls): Promise<Baseline | null> {
  try {
    const { node } = (await calls.call(EVERYONE, 'who', null, WHO_MS)) as { node: string };
    const answer = (await calls.call(node, 'baseline', null, STATE_MS)) as Buffer;
    const baseline = parseNamed<Baseline>('BusMessages', 'baseline', answer.toString());
    for (const session of baseline.sessions)
      checkNamed('BusMessages', 'session', parseJson(session));
    return baseline;
  } catch {
    // Nobody is there, or the one who was has gone.
    return null;
  }
}
