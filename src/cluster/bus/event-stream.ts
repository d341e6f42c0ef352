// Runs in the bus thread. The stream of the cluster's events on JetStream: makes it, checks it, publishes to it and reads from it.

import { createHash } from 'node:crypto';
import type { ClusterConfig } from '../wire/bus-messages.js';
import { type ClusterNames, replicasOf } from '../wire/names.js';
import {
  type ConsumerMessages,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  jetstream,
  jetstreamManager,
  type NatsConnection,
  RetentionPolicy,
  StorageType,
  type StoredMsg,
  type StreamInfo,
} from '../wire/nats.js';
import { agreeOnProtocol, DESCRIPTION } from '../wire/protocol-description.js';
import type { Signer } from '../wire/signer.js';
import { BlockReader, blockContext, type ReadUpTo, type StreamMessage } from './block-reader.js';
import { type BlockSink, type LastBlock, WrongSequence } from './publisher.js';

const DUPLICATE_WINDOW_MS = 120_000;
const NANOSECONDS = 1_000_000;
/** How long JetStream may take to answer, in ms. What is asked while it elects a leader is lost, and asked again after this. */
const ANSWER_MS = 3000;
/** How often the server says that there is nothing new, in ms. */
const HEARTBEAT_MS = 2000;
/** Error codes of JetStream. */
const NO_MESSAGE = 10037;
const STREAM_NOT_FOUND = 10059;
const WRONG_LAST_SEQUENCE = 10071;

/** What was asked of {@link EventStream.consume}. */
export type Consumed = Pick<ConsumerMessages, 'close'> & AsyncIterable<JsMsg>;

/** What identifies the stream, and what it holds. */
export interface StreamFacts {
  /** Another one for a stream that was deleted and made again. */
  epoch: string;
  first: number;
  last: number;
}

/** The last block of a node among the messages up to `seq`; null when it is not known. */
export interface ReadOf {
  seq: number;
  block: LastBlock['block'];
}

export class EventStream {
  readonly #names: ClusterNames;
  readonly #config: ClusterConfig;
  readonly #jetstream: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #signer: Signer;
  /** Up to this message nobody has published a later version: its description would say so. */
  #known = 0;

  private constructor(
    connection: NatsConnection,
    manager: JetStreamManager,
    names: ClusterNames,
    config: ClusterConfig,
    signer: Signer,
  ) {
    this.#signer = signer;
    this.#jetstream = jetstream(connection, { timeout: ANSWER_MS });
    this.#manager = manager;
    this.#names = names;
    this.#config = config;
  }

  /** Makes the stream when there is none. @throws StartupError for one of another version; an error of JetStream. */
  static async open(
    connection: NatsConnection,
    names: ClusterNames,
    config: ClusterConfig,
    signer: Signer,
  ): Promise<EventStream> {
    const manager = await jetstreamManager(connection, { timeout: ANSWER_MS });
    const stream = new EventStream(connection, manager, names, config, signer);
    await stream.#agree();
    return stream;
  }

  async facts(): Promise<StreamFacts> {
    const { created, state } = await this.#manager.streams.info(this.#names.stream);
    return { epoch: epochOf(created), first: state.first_seq, last: state.last_seq };
  }

  /** What the publisher of a node needs. @param read what was read of its messages, one after the other. */
  sink(node: string, read: () => ReadOf = () => ({ seq: 0, block: null })): BlockSink {
    const subject = this.#names.events(node);
    return {
      publish: async (bytes, lastSubjectSequence) => {
        try {
          const expect = { lastSubjectSequence };
          return (await this.#jetstream.publish(subject, bytes, { expect })).seq;
        } catch (thrown) {
          if (codeOf(thrown) === WRONG_LAST_SEQUENCE) throw new WrongSequence();
          throw thrown;
        }
      },
      sign: (last) => (head, packed) => this.#signer.sign(blockContext(node), last, head, packed),
      last: (from) => this.#lastOf(node, from, read()),
    };
  }

  /** For messages that are read one after the other. @param upTo is kept current. */
  reader(upTo?: ReadUpTo): BlockReader {
    return new BlockReader(this, this.#signer, upTo);
  }

  async hasHole(after: number, before: number): Promise<boolean> {
    const { stream } = this.#names;
    const { state } = await this.#manager.streams.info(stream, { deleted_details: true });
    const { first_seq, deleted = [] } = state;
    // What has left the window was not deleted.
    return deleted.some((seq) => seq > after && seq < before && seq >= first_seq);
  }

  /** @throws StartupError when the stream is of a later version. */
  async hasNoLater(seq: number): Promise<boolean> {
    if (seq > this.#known) await this.#agree();
    return seq <= this.#known;
  }

  /** The message with this sequence; null when it has left the window. */
  async at(seq: number): Promise<StreamMessage | null> {
    return this.#message(await this.#get({ seq }));
  }

  /** The next message of a node, from the sequence `seq` on; null when there is none. */
  async nextOf(node: string, seq: number): Promise<StreamMessage | null> {
    return this.#message(await this.#get({ seq, next_by_subj: this.#names.events(node) }));
  }

  /** The node that a subject is of. */
  nodeOf(subject: string): string {
    return subject.slice(this.#names.events('').length);
  }

  /** @param from sequence from which on the last block is looked for, when it is not the last message. */
  async #lastOf(node: string, from: number, read: ReadOf): Promise<LastBlock | null> {
    const last = this.#message(await this.#get({ last_by_subj: this.#names.events(node) }));
    if (!last) return null;
    const reader = this.reader();
    const { head } = await reader.read(last);
    if (head.type !== 'none') return { seq: last.seq, block: { seq: last.seq, head } };
    // Others can write more than can be asked for one by one.
    let { block } = read;
    let message = await this.nextOf(node, block ? Math.max(from, read.seq + 1) : from);
    while (message && message.seq < last.seq) {
      const { seq } = message;
      const found = await reader.read(message);
      if (found.head.type !== 'none') block = { seq, head: found.head };
      message = await this.nextOf(node, seq + 1);
    }
    return { seq: last.seq, block };
  }

  /**
   * Messages from `seq` on, in order. They end only with an error, or when they are closed. Where NATS has lost a server, it can take
   * JetStream long to make this: it places what delivers them on servers that are gone, too.
   */
  async consume(seq: number): Promise<Consumed> {
    const consumer = await this.#jetstream.consumers.get(this.#names.stream, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: seq,
    });
    return await consumer.consume({ max_messages: 500, idle_heartbeat: HEARTBEAT_MS });
  }

  async #get(
    query: { seq: number; next_by_subj?: string } | { last_by_subj: string },
  ): Promise<StoredMsg | null> {
    try {
      return await this.#manager.streams.getMessage(this.#names.stream, query);
    } catch (thrown) {
      if (codeOf(thrown) === NO_MESSAGE) return null;
      throw thrown;
    }
  }

  #message(stored: StoredMsg | null): StreamMessage | null {
    return stored && { seq: stored.seq, node: this.nodeOf(stored.subject), bytes: stored.data };
  }

  async #agree(): Promise<void> {
    const { last } = await this.facts().catch(() => ({ last: 0 }));
    await this.#ensure();
    this.#known = last;
  }

  async #ensure(): Promise<void> {
    const { stream, allEvents } = this.#names;
    const { window_bytes, window_ms } = this.#config;
    const found = await this.#info();
    if (found) {
      return agreeOnProtocol(this.#manager, `the NATS stream ${stream}`, found);
    }
    await this.#manager.streams.add({
      name: stream,
      description: DESCRIPTION,
      subjects: [allEvents],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.Old,
      max_bytes: window_bytes,
      max_age: window_ms * NANOSECONDS,
      duplicate_window: Math.min(DUPLICATE_WINDOW_MS, window_ms) * NANOSECONDS,
      num_replicas: replicasOf(this.#config),
    });
  }

  async #info(): Promise<StreamInfo | null> {
    try {
      return await this.#manager.streams.info(this.#names.stream);
    } catch (thrown) {
      if (codeOf(thrown) === STREAM_NOT_FOUND) return null;
      throw thrown;
    }
  }
}

function codeOf(thrown: unknown): number | null {
  return thrown instanceof JetStreamApiError ? thrown.apiError().err_code : null;
}

/** The time at which the stream was made tells it from one that was deleted. */
function epochOf(created: string): string {
  return createHash('sha256').update(created).digest('hex').slice(0, 10);
}
