// Runs in main. Follows one KV bucket, with a watch that starts over whenever it may have missed something.

import { Deferred } from '../../shared/deferred.js';
import { messageOf } from '../../shared/errors.js';
import {
  AckPolicy,
  DeliverPolicy,
  jetstreamManager,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
} from '../wire/nats.js';
import { newInbox } from '../wire/nats-options.js';
import { reasonOf } from '../wire/reasons.js';
import type { Bucket, Entry } from './bucket.js';

/** Wait before the next attempt, in ms: doubled each time, up to the second. */
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2000;
/** NATS says so often that nothing has changed, in ms. */
const HEARTBEAT_MS = 1000;
/** Without a word for so long the watch starts over, in ms. */
const SILENCE_MS = 3 * HEARTBEAT_MS;
/** NATS ends a consumer that nobody listens to after this, in ms. */
const UNUSED_MS = 30_000;
/**
 * So long after a bucket was made again the watches of all nodes whose NATS answers have told it, in ms: the silence, and time for the
 * round that follows.
 */
export const NOTICED_MS = SILENCE_MS + 5000;

/** Beginnings of the subjects for answers to JetStream. */
const ACK = '$JS.ACK.';
const FLOW_CONTROL = '$JS.FC.';

const nanos = (ms: number): number => ms * 1_000_000;

/** What the watch tells, in order. After it started over it tells again what it has told before. */
export interface KvListener<T> {
  /** Of a key that the bucket knows: a value, a removal, or what is none of both. */
  entry(key: string, entry: Entry<T>): void;
  /** The key is not in the bucket any more, and there is no marker: the bucket was made again, or has lost something. */
  vanished(key: string): void;
  /** All that the bucket had when the watch began has been told. Again after each time that it started over. */
  loaded(): void;
  /** It is not current any more; `loaded` follows when it is again. @param reason in one line. */
  interrupted(reason: string): void;
}

/** `open` rejects while it cannot be opened, or made. */
export type WatchedBucket<T> = Pick<
  Bucket<T>,
  'name' | 'open' | 'knows' | 'read' | 'vanished' | 'begin'
>;

/**
 * The client's own watch can be silent for a minute after the server that had its consumer is gone, and for ever after its bucket was
 * deleted. This one has a heartbeat of a second, starts over after each reconnect, and opens the bucket again.
 */
export class KvWatch<T> {
  readonly #nats: NatsConnection;
  readonly #bucket: WatchedBucket<T>;
  readonly #listener: KvListener<T>;
  /** The keys that were told, markers too. Bounded by what the bucket holds. */
  readonly #known = new Set<string>();
  /** When the bucket was made. */
  #created = '';
  /** The highest revision that was told. */
  #highest = 0;
  #isClosed = false;
  #isCurrent = false;
  /** Ends the round that is under way. */
  #interrupt: (reason: string) => void = () => {};

  constructor(nats: NatsConnection, bucket: WatchedBucket<T>, listener: KvListener<T>) {
    this.#nats = nats;
    this.#bucket = bucket;
    this.#listener = listener;
    void this.#keepUp();
    void this.#seeReconnects();
  }

  /** Whether it has told everything, as far as it knows. */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  close(): void {
    this.#isClosed = true;
    this.#interrupt('closed');
  }

  async #keepUp(): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    while (!this.#isClosed) {
      const reason = await this.#watch().catch(reasonOf);
      if (this.#isClosed) return;
      if (this.#isCurrent) waitMs = FIRST_WAIT_MS;
      this.#isCurrent = false;
      this.#listener.interrupted(reason);
      await this.#pause(waitMs);
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  }

  async #seeReconnects(): Promise<void> {
    for await (const { type } of this.#nats.status()) {
      if (this.#isClosed) return;
      // What was sent meanwhile is lost.
      if (type === 'disconnect' || type === 'reconnect')
        this.#interrupt('the connection to NATS was lost');
    }
  }

  /** @returns why it has ended. */
  async #watch(): Promise<string> {
    const ended = new Deferred<string>();
    this.#interrupt = ended.resolve;
    const kv = await this.#bucket.open();
    const { streamInfo } = await kv.status();
    const { name: bucket } = this.#bucket;
    const { created, state } = streamInfo;
    // It was made again, or NATS has lost what it had acknowledged.
    if (created !== this.#created || state.last_seq < this.#highest)
      this.#forget(created, state.last_seq);
    this.#created = created;
    const round = new WatchRound(this.#nats, `$KV.${bucket}.`, this.#known, {
      entry: (key, revision, ...read) => {
        this.#highest = Math.max(this.#highest, revision);
        if (!this.#bucket.knows(key)) return;
        const entry = this.#bucket.read(key, revision, ...read);
        if (entry.isCleared) this.#listener.vanished(key);
        else this.#listener.entry(key, entry);
      },
      vanished: (key) => this.#vanished(key),
      loaded: () => {
        this.#isCurrent = true;
        this.#listener.loaded();
      },
      interrupted: ended.resolve,
    });
    const inbox = newInbox(this.#nats);
    const subscription = this.#nats.subscribe(inbox, {
      callback: (error, message) => {
        if (error) ended.resolve(messageOf(error));
        else round.take(message);
      },
    });
    try {
      const manager = await jetstreamManager(this.#nats, { checkAPI: false });
      const { num_pending: pending } = await manager.consumers.add(`KV_${bucket}`, {
        deliver_subject: inbox,
        deliver_policy: DeliverPolicy.LastPerSubject,
        filter_subject: `$KV.${bucket}.>`,
        ack_policy: AckPolicy.None,
        max_deliver: 1,
        mem_storage: true,
        num_replicas: 1,
        flow_control: true,
        idle_heartbeat: nanos(HEARTBEAT_MS),
        inactive_threshold: nanos(UNUSED_MS),
      });
      if (this.#isClosed) return 'closed';
      if ((await kv.status()).streamInfo.created !== created) return 'the bucket was made again';
      round.begin(pending);
      return await ended.promise;
    } finally {
      round.end();
      subscription.unsubscribe();
    }
  }

  /** The revisions of such a bucket have nothing to do with the earlier ones. */
  #forget(created: string, lastSeq: number): void {
    this.#highest = 0;
    this.#bucket.begin(created, lastSeq);
    for (const key of this.#known) this.#vanished(key);
    this.#known.clear();
  }

  #vanished(key: string): void {
    this.#bucket.vanished(key);
    if (this.#bucket.knows(key)) this.#listener.vanished(key);
  }

  async #pause(ms: number): Promise<void> {
    const over = new Deferred<string>();
    this.#interrupt = over.resolve;
    const timer = setTimeout(() => over.resolve(''), ms);
    await over.promise;
    clearTimeout(timer);
  }
}

/** What a consumer tells; values as they are stored. */
interface RoundListener extends Omit<KvListener<never>, 'entry'> {
  entry(key: string, revision: number, isRemoved: boolean, data: Uint8Array): void;
}

/** One consumer of the bucket, until it may have missed something. */
class WatchRound {
  readonly #nats: NatsConnection;
  readonly #prefix: string;
  readonly #known: Set<string>;
  readonly #tell: RoundListener;
  /** Keys of earlier rounds that this one has not seen yet. */
  readonly #missing: Set<string>;
  #silence: NodeJS.Timeout | undefined;
  /** Number of the last message that the consumer has sent here. */
  #delivered = 0;
  /** It has sent what the bucket had. */
  #isComplete = false;

  constructor(nats: NatsConnection, prefix: string, known: Set<string>, tell: RoundListener) {
    this.#nats = nats;
    this.#prefix = prefix;
    this.#known = known;
    this.#tell = tell;
    this.#missing = new Set(known);
  }

  /** The consumer exists; messages may have come before this. @param pending how many it had still to send. */
  begin(pending: number): void {
    this.#silence = setTimeout(() => this.#tell.interrupted('NATS does not answer'), SILENCE_MS);
    if (pending === 0 && this.#delivered === 0) this.#complete();
  }

  end(): void {
    clearTimeout(this.#silence);
  }

  take(message: Msg): void {
    this.#silence?.refresh();
    const { headers, reply = '' } = message;
    // What is stored may have a status, too: then its subject is that of its key.
    const isStored = message.subject.startsWith(this.#prefix);
    if (headers?.code && !isStored) {
      if (headers.code === 100) this.#control(headers, reply);
      else this.#tell.interrupted(headers.description);
      return;
    }
    // Any client that has seen the inbox can write to it; only JetStream can ask for such an answer.
    if (!reply.startsWith(ACK) || !isStored) return;
    const { revision, delivered, pending } = numbersOf(reply);
    if (delivered !== this.#delivered + 1) {
      this.#tell.interrupted('messages were lost');
      return;
    }
    this.#delivered = delivered;
    const key = message.subject.slice(this.#prefix.length);
    this.#missing.delete(key);
    this.#known.add(key);
    const isMarker = Boolean(headers?.get('KV-Operation'));
    this.#tell.entry(key, revision, isMarker, message.data);
    if (pending === 0) this.#complete();
  }

  /** A heartbeat, or a question of flow control. */
  #control(headers: MsgHdrs, reply: string): void {
    const question = reply || headers.get('Nats-Consumer-Stalled');
    if (question?.startsWith(FLOW_CONTROL)) this.#nats.publish(question);
    const sent = headers.get('Nats-Last-Consumer');
    if (!sent) return;
    // The count of what is pending can be wrong when keys change meanwhile; a consumer that has nothing to send is never wrong.
    if (Number(sent) === this.#delivered) this.#complete();
    else this.#tell.interrupted('messages were lost');
  }

  #complete(): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    for (const key of this.#missing) {
      this.#known.delete(key);
      this.#tell.vanished(key);
    }
    this.#tell.loaded();
  }
}

/** Of the subject for acknowledgements: `$JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<number>.<time>.<pending>`. */
function numbersOf(reply: string): { revision: number; delivered: number; pending: number } {
  const tokens = reply.split('.');
  // Newer servers put a domain and an account in front of the stream.
  const at = tokens.length > 9 ? 7 : 5;
  const [revision, delivered, , pending] = tokens.slice(at).map(Number);
  return { revision: revision ?? 0, delivered: delivered ?? 0, pending: pending ?? 0 };
}
