// What a cluster has on NATS, and says there, in a file: a recording of one version of the protocol (test/fixtures/cluster).

import type { Msg, NatsConnection } from '../../src/cluster/wire/nats.js';
import { headers, jetstreamManager } from '../../src/cluster/wire/nats.js';

export interface RecordedStream {
  name: string;
  description: string;
  subjects: string[];
  /** KV buckets: what a bucket allows beside a plain stream. */
  isBucket: boolean;
  ttlNanos: number;
  messages: RecordedMessage[];
}

export interface RecordedMessage {
  subject: string;
  headers: Record<string, string>;
  /** Base64. */
  data: string;
}

export interface Recording {
  /** The key of `cluster.secret_key_file`. */
  key: string;
  /** Of a token that the cluster had, in the clear. */
  token: string;
  streams: RecordedStream[];
  /** Calls of a node to another. */
  calls: { method: string; data: string }[];
}

/** Reads all streams of the cluster `test`. */
export async function recordStreams(connection: NatsConnection): Promise<RecordedStream[]> {
  const { streams } = await jetstreamManager(connection);
  const recorded: RecordedStream[] = [];
  for await (const { config, state } of streams.list()) {
    const messages: RecordedMessage[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      // Of a key only the last value is there.
      const message = await streams.getMessage(config.name, { seq }).catch(() => null);
      if (!message) continue;
      const own = ['KV-Operation'].flatMap((name) => {
        const value = message.header?.get(name);
        return value ? [[name, value]] : [];
      });
      messages.push({
        subject: message.subject,
        headers: Object.fromEntries(own),
        data: Buffer.from(message.data).toString('base64'),
      });
    }
    recorded.push({
      name: config.name,
      description: config.description ?? '',
      subjects: config.subjects,
      isBucket: config.name.startsWith('KV_'),
      ttlNanos: config.max_age,
      messages,
    });
  }
  return recorded;
}

/** Calls that come on a subscription of all calls, by their method: the first of each. */
export function callsIn(messages: readonly Msg[]): Recording['calls'] {
  const calls = new Map<string, string>();
  for (const message of messages) {
    const { method } = message.json<{ method?: string }>();
    if (method !== undefined && !calls.has(method)) {
      calls.set(method, Buffer.from(message.data).toString('base64'));
    }
  }
  return [...calls].map(([method, data]) => ({ method, data }));
}

/** Makes the streams on another server, with what they had. */
export async function replay(
  connection: NatsConnection,
  recorded: readonly RecordedStream[],
): Promise<void> {
  const { streams } = await jetstreamManager(connection);
  for (const { name, description, subjects, isBucket, ttlNanos, messages } of recorded) {
    const bucket = { max_msgs_per_subject: 1, allow_rollup_hdrs: true, discard: 'new' as never };
    await streams.add({
      name,
      description,
      subjects,
      max_age: ttlNanos,
      ...(isBucket ? bucket : {}),
    });
    for (const { subject, headers: own, data } of messages) {
      const all = headers();
      for (const [header, value] of Object.entries(own)) all.set(header, value);
      const bytes = Buffer.from(data, 'base64');
      await connection.request(subject, bytes, { timeout: 10_000, headers: all });
    }
  }
}
