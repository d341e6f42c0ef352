// In main. Opens the key-value buckets of a cluster: makes them, and checks their versions.

import {
  jetstream,
  jetstreamManager,
  type KV,
  Kvm,
  type NatsConnection,
} from '../../shared/cluster/nats.js';
import { agreeOnProtocol, DESCRIPTION } from '../../shared/cluster/protocol-description.js';

export interface BucketOptions {
  replicas: number;
  /** How long NATS has to answer, in ms. */
  answerMs: number;
  /** After this, in ms, a value is gone. */
  ttlMs?: number;
}

export interface OpenedBucket {
  kv: KV;
  /** When it was made: another bucket with the same name has another. */
  created: string;
  /** In ms, 0 for none: perhaps not what was asked for. */
  ttlMs: number;
}

/** @throws StartupError when it is of another version, or of another program; an error of JetStream. */
export async function openBucket(
  nats: NatsConnection,
  name: string,
  { replicas, answerMs, ttlMs }: BucketOptions,
): Promise<OpenedBucket> {
  const options = { timeout: answerMs };
  const kv = await new Kvm(jetstream(nats, options)).create(name, {
    description: DESCRIPTION,
    history: 1,
    replicas,
    ...(ttlMs !== undefined && { ttl: ttlMs }),
    // Every read is the leader's: another copy may be behind.
    allow_direct: false,
  });
  const { streamInfo, ttl } = await kv.status();
  const manager = await jetstreamManager(nats, { ...options, checkAPI: false });
  await agreeOnProtocol(manager, `the NATS bucket ${name}`, streamInfo);
  return { kv, created: String(streamInfo.created), ttlMs: ttl };
}
