// Runs in the bus thread. A node that joins takes the state of another: what it has counted, and the snapshot of every bot, as of one
// message of the stream. So it reads on from there, and is like the others.

import { type ClusterNames, PROTOCOL, READABLE } from '../shared/cluster/names.js';
import type { Msg, NatsConnection } from '../shared/cluster/nats.js';
import type { Total } from './block.js';
import { askForLong, serveLongAnswers } from './long-answers.js';

/** How long another node may take to say that it is there, and to send its state, in ms. */
const WHO_MS = 1000;
const PARTS_MS = 10_000;

export interface Baseline extends Total {
  epoch: string;
  /** JSON of `session` events. */
  sessions: string[];
}

/** Answers other nodes. @param state what this node has; null while it has nothing. @returns a function that ends it. */
export function serveBaseline(
  connection: NatsConnection,
  names: ClusterNames,
  node: string,
  state: () => Baseline | null,
): () => void {
  const who = connection.subscribe(names.allBus, {
    callback: (_, message: Msg) => {
      if (state() && isReadable(message)) message.respond(JSON.stringify({ v: PROTOCOL, node }));
    },
  });
  const unserve = serveLongAnswers(connection, subjectOf(names, node), async () => {
    const baseline = state();
    return baseline && Buffer.from(JSON.stringify(baseline));
  });
  return () => {
    who.unsubscribe();
    unserve();
  };
}

/** The state of any node that answers; null when none does. */
export async function askBaseline(
  connection: NatsConnection,
  names: ClusterNames,
): Promise<Baseline | null> {
  try {
    const question = JSON.stringify({ v: PROTOCOL });
    const who = await connection.request(names.allBus, question, { timeout: WHO_MS });
    const { v, node } = who.json<{ v: number; node: string }>();
    if (v > READABLE) return null;
    const answer = await askForLong(connection, subjectOf(names, node), {}, PARTS_MS);
    return JSON.parse(answer.toString()) as Baseline;
  } catch {
    // Nobody is there, or the one who was has gone.
    return null;
  }
}

/** A question that this version can answer. */
function isReadable(message: Msg): boolean {
  try {
    const asked = message.json<{ v: number } | null>();
    return asked !== null && asked.v <= READABLE;
  } catch {
    return false;
  }
}

function subjectOf(names: ClusterNames, node: string): string {
  return `${names.bus(node)}.baseline`;
}
