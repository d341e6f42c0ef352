// Runs in the bus thread. A node that joins takes the state of another: what it has counted, and the snapshot of every bot, as of one
// message of the stream. So it reads on from there, and is like the others.

import { randomUUID } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type ClusterNames, PROTOCOL, READABLE } from '../shared/cluster/names.js';
import type { Msg, NatsConnection } from '../shared/cluster/nats.js';
import { withTimeout } from '../shared/with-timeout.js';
import type { Total } from './block.js';

/** Bytes of a message: the servers allow 1 MiB by default. */
const PART_BYTES = 512 * 1024;
/** How long another node may take to say that it is there, and to send its state, in ms. */
const WHO_MS = 1000;
const PARTS_MS = 10_000;

export interface Baseline extends Total {
  epoch: string;
  /** JSON of `session` events. */
  sessions: string[];
}

interface Question {
  v: number;
  /** `who`: is somebody there. Else the subject to which the parts go. */
  parts: string | null;
}

/** Answers other nodes. @param state what this node has; null while it has nothing. @returns a function that ends it. */
export function serveBaseline(
  connection: NatsConnection,
  names: ClusterNames,
  node: string,
  state: () => Baseline | null,
): () => void {
  const answer = (_: unknown, message: Msg): void => {
    const baseline = state();
    if (!baseline) return;
    const question = questionIn(message);
    if (!question) return;
    const { parts } = question;
    if (parts === null) {
      message.respond(JSON.stringify({ v: PROTOCOL, node }));
      return;
    }
    const bytes = deflateRawSync(Buffer.from(JSON.stringify(baseline)), { level: 1 });
    const count = Math.ceil(bytes.length / PART_BYTES);
    message.respond(JSON.stringify({ v: PROTOCOL, count }));
    for (let at = 0; at < count; at++) {
      connection.publish(parts, bytes.subarray(at * PART_BYTES, (at + 1) * PART_BYTES));
    }
  };
  const subscriptions = [names.allBus, `${names.bus(node)}.baseline`].map((subject) =>
    connection.subscribe(subject, { callback: answer }),
  );
  return () => {
    for (const subscription of subscriptions) subscription.unsubscribe();
  };
}

/** The state of any node that answers; null when none does. */
export async function askBaseline(
  connection: NatsConnection,
  names: ClusterNames,
): Promise<Baseline | null> {
  try {
    const who = await connection.request(names.allBus, question(null), { timeout: WHO_MS });
    const { v, node } = who.json<{ v: number; node: string }>();
    if (v > READABLE) return null;
    return await withTimeout(download(connection, names, node), PARTS_MS, () => null);
  } catch {
    // Nobody is there, or the one who was has gone.
    return null;
  }
}

async function download(
  connection: NatsConnection,
  names: ClusterNames,
  node: string,
): Promise<Baseline> {
  const subject = `_INBOX.${randomUUID()}`;
  const subscription = connection.subscribe(subject);
  try {
    const subjectOfNode = `${names.bus(node)}.baseline`;
    const answer = await connection.request(subjectOfNode, question(subject), {
      timeout: PARTS_MS,
    });
    const { count } = answer.json<{ count: number }>();
    const parts: Uint8Array[] = [];
    for await (const part of subscription) {
      parts.push(part.data);
      if (parts.length === count) break;
    }
    return JSON.parse(inflateRawSync(Buffer.concat(parts)).toString()) as Baseline;
  } finally {
    subscription.unsubscribe();
  }
}

/** Null for one that this version cannot answer. */
function questionIn(message: Msg): Question | null {
  try {
    const asked = message.json<Question | null>();
    return asked && asked.v <= READABLE ? asked : null;
  } catch {
    return null;
  }
}

function question(parts: string | null): string {
  return JSON.stringify({ v: PROTOCOL, parts } satisfies Question);
}
