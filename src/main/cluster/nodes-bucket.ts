// In main. The bucket of leases: makes it, checks it, and makes it again when it was deleted while the node runs.

import type { KV, NatsConnection } from '../../shared/cluster/nats.js';
import { isMissing, isWrongSequence, reasonOf } from '../../shared/cluster/reasons.js';
import { DroverError, StartupError } from '../../shared/errors.js';
import { withTimeout } from '../../shared/with-timeout.js';
import { openBucket } from './bucket.js';
import { answerMsOf, type LeaseEntry, type LeaseStore } from './lease.js';

/** The leases of nodes, and beside them the leader's: no node can have its key. */
export const LEADER_KEY = 'leader';
const NODE = 'node.';
export const nodeKey = (node: string): string => NODE + node;
export const nodeOfKey = (key: string): string | null =>
  key.startsWith(NODE) ? key.slice(NODE.length) : null;

/** How long NATS has to answer, in ms; less where the lease needs it. */
const ANSWER_MS = 5000;

export interface NodesBucketOptions {
  /** clusterNames().nodes */
  name: string;
  leaseMs: number;
  replicas: number;
  /** Resolves once NATS was reached. */
  connected: () => Promise<NatsConnection>;
}

export class NodesBucket {
  readonly #options: NodesBucketOptions;
  #opened: Promise<KV> | null = null;
  #isReopening = false;

  constructor(options: NodesBucketOptions) {
    this.#options = options;
  }

  get leaseMs(): number {
    return this.#options.leaseMs;
  }

  /** Waits until NATS is there. @throws StartupError when the bucket is of another version or has another lease */
  open(): Promise<KV> {
    this.#opened ??= this.#open().catch((thrown: unknown) => {
      this.#opened = null;
      throw thrown;
    });
    return this.#opened;
  }

  /**
   * Does something with the bucket. If it is not there, it is made again meanwhile: the next attempt finds it.
   * @throws Error in time for another attempt before the lease runs out
   */
  async use<T>(action: (kv: KV) => Promise<T>): Promise<T> {
    return await this.#inTime(this.#use(action));
  }

  lease(key: string): LeaseStore {
    return {
      read: () => this.use((kv) => entryOf(kv, key)),
      write: (value, expected) => this.use((kv) => kv.put(key, value, { previousSeq: expected })),
      end: (expected) => this.use((kv) => kv.delete(key, { previousSeq: expected })),
      isOutdated: isWrongSequence,
      reasonOf: reasonOfBucket,
    };
  }

  async #use<T>(action: (kv: KV) => Promise<T>): Promise<T> {
    const kv = await this.open();
    try {
      return await action(kv);
    } catch (thrown) {
      if (!isMissing(thrown)) throw thrown;
      void this.#reopen();
      const { name } = this.#options;
      throw new DroverError(
        'unavailable',
        `the NATS bucket ${name} is not there: JetStream is choosing a server that leads it, or it was deleted`,
      );
    }
  }

  /** Nobody waits for it: while JetStream chooses a leader this takes long, and what is open works again afterwards. */
  async #reopen(): Promise<void> {
    if (this.#isReopening) return;
    this.#isReopening = true;
    try {
      this.#opened = Promise.resolve(await this.#open());
    } catch (thrown) {
      // The next use tells it.
      if (thrown instanceof StartupError) this.#opened = null;
    }
    this.#isReopening = false;
  }

  async #open(): Promise<KV> {
    const { name, leaseMs, replicas, connected } = this.#options;
    const nats = await connected();
    const options = { replicas, ttlMs: leaseMs, answerMs: this.#answerMs };
    const { kv, ttlMs } = await openBucket(nats, name, options);
    if (ttlMs !== leaseMs)
      throw new StartupError(
        `cluster.lease_ms is ${leaseMs} here, and ${ttlMs} in the cluster: give all nodes the same; to change it, stop all nodes and delete the NATS bucket ${name}`,
      );
    return kv;
  }

  get #answerMs(): number {
    return Math.min(ANSWER_MS, answerMsOf(this.#options.leaseMs));
  }

  #inTime<T>(promise: Promise<T>): Promise<T> {
    return withTimeout(promise, this.#answerMs, () => {
      throw new DroverError('unavailable', 'the NATS servers do not answer (timeout)');
    });
  }
}

async function entryOf(kv: KV, key: string): Promise<LeaseEntry | null> {
  const entry = await kv.get(key);
  if (!entry) return null;
  return { revision: entry.revision, value: entry.operation === 'PUT' ? entry.string() : null };
}

function reasonOfBucket(thrown: unknown): string {
  return thrown instanceof StartupError ? thrown.message : reasonOf(thrown);
}
