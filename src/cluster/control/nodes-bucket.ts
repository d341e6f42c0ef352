// In main. The bucket of leases: makes it, checks it, and makes it again when it was deleted while the node runs.

import { DroverError, StartupError } from '../../shared/errors.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { KV, NatsConnection } from '../wire/nats.js';
import { isMissing, isWrongSequence, reasonOf } from '../wire/reasons.js';
import type { Signer } from '../wire/signer.js';
import { Bucket, type Entry, type Fault } from './bucket.js';
import { answerMsOf, type LeaseEntry, type LeaseStore } from './lease.js';
import { LEADER_KEY, nodeOfKey } from './node-keys.js';
import { checkLease } from './node-record.js';

/** How long NATS has to answer, in ms; less where the lease needs it. */
const ANSWER_MS = 5000;

export interface NodesBucketOptions {
  /** clusterNames().nodes */
  name: string;
  leaseMs: number;
  replicas: number;
  signer: Signer;
  /** Resolves once NATS was reached. */
  connected: () => Promise<NatsConnection>;
}

export class NodesBucket {
  readonly #options: NodesBucketOptions;
  #bucket: Bucket<string> | undefined;
  #opened: Promise<KV> | null = null;
  #isReopening = false;

  constructor(options: NodesBucketOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** Keys with what is no lease. */
  get faults(): ReadonlyMap<string, Fault> {
    return this.#bucket?.faults ?? new Map();
  }

  knows(key: string): boolean {
    return key === LEADER_KEY || nodeOfKey(key) !== null;
  }

  read(key: string, revision: number, isRemoved: boolean, data: Uint8Array): Entry<string> {
    return (this.#bucket as Bucket<string>).read(key, revision, isRemoved, data);
  }

  begin(created: string, lastSeq: number): void {
    this.#bucket?.begin(created, lastSeq);
  }

  vanished(key: string): void {
    this.#bucket?.vanished(key);
  }

  /** As {@link Bucket.clear}. */
  clear(key: string): Promise<boolean> {
    return this.use((bucket) => bucket.clear(key));
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
  async use<T>(action: (bucket: Bucket<string>) => Promise<T>): Promise<T> {
    return await this.inTime(this.#use(action));
  }

  lease(key: string): LeaseStore {
    return {
      read: () => this.use((bucket) => entryOf(bucket, key)),
      write: (value, expected) => this.use((bucket) => bucket.put(key, value, expected)),
      end: (expected) => this.use((bucket) => bucket.remove(key, expected)),
      isOutdated: isWrongSequence,
      reasonOf: reasonOfBucket,
    };
  }

  async #use<T>(action: (bucket: Bucket<string>) => Promise<T>): Promise<T> {
    await this.open();
    try {
      return await action(this.#bucket as Bucket<string>);
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
    const { name, leaseMs, replicas, signer, connected } = this.#options;
    const options = { name, replicas, ttlMs: leaseMs, answerMs: this.#answerMs, signer };
    this.#bucket ??= new Bucket(await connected(), {
      ...options,
      knows: (key) => this.knows(key),
      read: checkLease,
    });
    const kv = await this.#bucket.open();
    const { ttlMs } = this.#bucket;
    if (ttlMs !== leaseMs)
      throw new StartupError(
        `cluster.lease_ms is ${leaseMs} here, and ${ttlMs} in the cluster: give all nodes the same; to change it, stop all nodes and delete the NATS bucket ${name}`,
      );
    return kv;
  }

  get #answerMs(): number {
    return Math.min(ANSWER_MS, answerMsOf(this.#options.leaseMs));
  }

  /** @throws Error in time for another attempt before the lease runs out. */
  inTime<T>(promise: Promise<T>): Promise<T> {
    return withTimeout(promise, this.#answerMs, () => {
      throw new DroverError('unavailable', 'the NATS servers do not answer (timeout)');
    });
  }
}

async function entryOf(bucket: Bucket<string>, key: string): Promise<LeaseEntry | null> {
  const entry = await bucket.get(key);
  if (!entry) return null;
  const { revision, value, fault, isCleared } = entry;
  const reason = isCleared ? 'what was there was none, and was removed' : fault?.reason;
  return { revision, value, ...(reason !== undefined && { fault: reason }) };
}

function reasonOfBucket(thrown: unknown): string {
  return thrown instanceof StartupError ? thrown.message : reasonOf(thrown);
}
