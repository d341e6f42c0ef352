// In main. Whether the buckets on NATS are what they have to be: the leader looks at each take-over, and once a minute. Servers that have
// diverged after crashes keep values that they have to drop, answer that a key is not there, or have not what they have acknowledged.

import type { Clock } from '../../shared/clock.js';
import { jetstreamManager, type NatsConnection } from '../wire/nats.js';

const EVERY_MS = 60_000;
/** A key can change while it is looked at: what is wrong is still wrong after this, in ms. */
const AGAIN_MS = 1000;
/** Keys of a bucket that are looked up each time; the next time the next ones. */
const KEYS = 50;
/** How long NATS has to answer, in ms. */
const ANSWER_MS = 5000;

export interface CheckedBucket {
  name: string;
  /** Keys that this node has seen, with their revisions. */
  known: () => Iterable<[key: string, revision: number]>;
}

/** A bucket as the server that leads it has it. */
export interface BucketView {
  totals(): Promise<{ values: number; keys: number }>;
  /** Values by key. */
  counts(): Promise<Map<string, number>>;
  /** Revision of the last value of a key; null when there is none. */
  last(key: string): Promise<number | null>;
}

export interface BucketCheckOptions {
  buckets: readonly CheckedBucket[];
  view: (bucket: string) => BucketView;
  clock: Clock;
  say: (level: 'info' | 'error', line: string) => void;
}

export class BucketCheck {
  readonly #options: BucketCheckOptions;
  /** Where the next look at the keys of a bucket begins. */
  readonly #from = new Map<string, number>();
  /** What was said of a bucket. */
  readonly #faults = new Map<string, string>();
  #stop: (() => void) | null = null;
  #isLooking = false;

  constructor(options: BucketCheckOptions) {
    this.#options = options;
  }

  /** How many buckets have something wrong, as far as is known. */
  get faults(): number {
    return this.#faults.size;
  }

  /** This node leads: looks now, and each minute. */
  start(): void {
    this.#stop ??= this.#options.clock.every(EVERY_MS, () => void this.look());
    void this.look();
  }

  stop(): void {
    this.#stop?.();
    this.#stop = null;
  }

  /** Says what is wrong, once, and when it is right again. NATS that does not answer is told by others. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    for (const bucket of this.#options.buckets) {
      try {
        this.#tell(bucket.name, await this.#faultOf(bucket));
      } catch {
        // Nothing is known of it.
      }
    }
    this.#isLooking = false;
  }

  async #faultOf(bucket: CheckedBucket): Promise<string | null> {
    const keys = this.#nextKeys(bucket);
    const view = this.#options.view(bucket.name);
    const fault = await firstFault(view, keys);
    if (fault === null) return null;
    await this.#options.clock.sleep(AGAIN_MS);
    const wanted = new Set(keys.map(([key]) => key));
    return await firstFault(
      view,
      [...bucket.known()].filter(([key]) => wanted.has(key)),
    );
  }

  #nextKeys({ name, known }: CheckedBucket): [string, number][] {
    const all = [...known()];
    const from = this.#from.get(name) ?? 0;
    const keys = all.slice(from, from + KEYS);
    this.#from.set(name, from + KEYS < all.length ? from + KEYS : 0);
    return keys;
  }

  #tell(name: string, fault: string | null): void {
    const { say } = this.#options;
    const before = this.#faults.get(name);
    if (fault === null) {
      if (before !== undefined) say('info', `the NATS bucket ${name} is in order again`);
      this.#faults.delete(name);
      return;
    }
    if (fault !== before)
      say(
        'error',
        `the NATS servers have diverged: in the bucket ${name} ${fault} (docs/CLUSTER.md, "What NATS loses")`,
      );
    this.#faults.set(name, fault);
  }
}

async function firstFault(
  view: BucketView,
  known: readonly [string, number][],
): Promise<string | null> {
  const { values, keys } = await view.totals();
  if (values > keys) {
    const [key, count] = [...(await view.counts())].find(([, found]) => found > 1) ?? [];
    if (key !== undefined) return `the key ${key} has ${count} values where 1 is allowed`;
  }
  for (const [key, revision] of known) {
    const last = await view.last(key);
    if (last === null) return `the key ${key} is not there, and nobody has removed it`;
    if (last < revision)
      return `the key ${key} has revision ${last}, and had ${revision} before that`;
  }
  return null;
}

/** Of a connection to NATS. */
export function bucketView(nats: NatsConnection, bucket: string): BucketView {
  const stream = `KV_${bucket}`;
  const prefix = `$KV.${bucket}.`;
  const streams = async () =>
    (await jetstreamManager(nats, { timeout: ANSWER_MS, checkAPI: false })).streams;
  return {
    async totals() {
      const { state } = await (await streams()).info(stream);
      return { values: state.messages, keys: state.num_subjects ?? 0 };
    },
    async counts() {
      const { state } = await (await streams()).info(stream, { subjects_filter: `${prefix}>` });
      const counts = Object.entries(state.subjects ?? {});
      return new Map(counts.map(([subject, count]) => [subject.slice(prefix.length), count]));
    },
    async last(key) {
      const message = await (await streams()).getMessage(stream, { last_by_subj: prefix + key });
      return message?.seq ?? null;
    },
  };
}
