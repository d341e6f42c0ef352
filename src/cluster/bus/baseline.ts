// Runs in the bus thread. A node that joins takes the state of another: what it has counted, and the snapshot of every bot, as of one
// message of the stream. So it reads on from there, and is like the others.

import { randomUUID } from 'node:crypto';
import { INBOX } from '../../shared/contract/node-name.js';
import { Deferred } from '../../shared/deferred.js';
import { withTimeout } from '../../shared/with-timeout.js';
import { checkNamed, parseJson, parseNamed } from '../wire/bus-validators.js';
import { type ClusterNames, PROTOCOL, READABLE } from '../wire/names.js';
import type { Msg, NatsConnection } from '../wire/nats.js';
import { newInbox } from '../wire/nats-options.js';
import type { Signer } from '../wire/signer.js';
import type { Total } from './block.js';
import { askForLong, Questions, serveLongAnswers, signQuestion } from './long-answers.js';

/** How long another node may take to say that it is there, and to send its state, in ms. */
const WHO_MS = 1000;
const PARTS_MS = 10_000;

export interface Baseline extends Total {
  epoch: string;
  /** The last message of each node up to there, as far as is known. Earlier releases do not say it. */
  last?: Record<string, number>;
  /** JSON of `session` events. */
  sessions: string[];
}

/** Answers other nodes. @param state what this node has; null while it has nothing. @returns a function that ends it. */
export function serveBaseline(
  connection: NatsConnection,
  signer: Signer,
  names: ClusterNames,
  node: string,
  state: () => Baseline | null,
): () => void {
  const questions = new Questions(signer, names.allBus);
  const who = connection.subscribe(names.allBus, {
    callback: (_, message: Msg) => {
      const id = state() && questionIn(questions, message);
      if (id === null) return;
      const answer = JSON.stringify({ v: PROTOCOL, node });
      message.respond(signer.sign(['who', id], 0, answer));
    },
  });
  const unserve = serveLongAnswers(connection, signer, subjectOf(names, node), async () => {
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
  signer: Signer,
  names: ClusterNames,
): Promise<Baseline | null> {
  try {
    const node = await anyNode(connection, signer, names.allBus);
    if (node === null) return null;
    const answer = await askForLong(connection, signer, subjectOf(names, node), {}, PARTS_MS);
    const baseline = parseNamed<Baseline>('BusMessages', 'baseline', answer.toString());
    for (const session of baseline.sessions)
      checkNamed('BusMessages', 'session', parseJson(session));
    return baseline;
  } catch {
    // Nobody is there, or the one who was has gone.
    return null;
  }
}

/** The first that answers as a node does; null when none does in time. */
async function anyNode(
  connection: NatsConnection,
  signer: Signer,
  subject: string,
): Promise<string | null> {
  const id = randomUUID();
  const inbox = newInbox(connection);
  const found = new Deferred<string | null>();
  const subscription = connection.subscribe(inbox, {
    callback: (_, message) => {
      // Nobody listens.
      if (message.headers?.code) found.resolve(null);
      try {
        const { text } = signer.open(['who', id], message.string());
        const { v, node } = parseNamed<{ v: number; node: string }>('BusMessages', 'who', text);
        if (v <= READABLE) found.resolve(node);
      } catch {
        // Somebody else's answer.
      }
    },
  });
  connection.publish(subject, signQuestion(signer, subject, { v: PROTOCOL, id }), { reply: inbox });
  const node = await withTimeout(found.promise, WHO_MS, () => null);
  subscription.unsubscribe();
  return node;
}

/** The id of a question that this version can answer; null for another. Earlier releases send none. */
function questionIn(questions: Questions, message: Msg): string | null {
  try {
    const { v, id } = questions.open(message.string()) as { v: number; id?: unknown };
    return v <= READABLE && INBOX.test(message.reply ?? '') ? String(id ?? '') : null;
  } catch {
    return null;
  }
}

function subjectOf(names: ClusterNames, node: string): string {
  return `${names.bus(node)}.baseline`;
}
