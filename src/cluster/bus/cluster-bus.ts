// Runs in the bus thread. Joins the stream of the cluster, keeps this node's ring of it current, and publishes the node's own frames.

import { setTimeout as delay } from 'node:timers/promises';
import type { StreamIdentity } from '../../shared/contract/threads.js';
import { Deferred } from '../../shared/deferred.js';
import { BusFigures } from '../../shared/memory/bus-figures.js';
import { RingReader } from '../../shared/memory/ring-reader.js';
import { eventId, gapJson, KIND_CODE, NO_LEVEL } from '../../shared/stream/frame.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { BusStatus, ClusterBusStart, LostBot } from '../wire/bus-messages.js';
import { NodeCalls } from '../wire/calls.js';
import { NatsLink } from '../wire/connect.js';
import { clusterNames } from '../wire/names.js';
import type { NatsConnection } from '../wire/nats.js';
import { reasonOf } from '../wire/reasons.js';
import { Signer } from '../wire/signer.js';
import { askBaseline, serveBaseline } from './baseline.js';
import type { ReadBlock, Total } from './block.js';
import {
  type BlockReader,
  type ReadUpTo,
  type StreamMessage,
  totalBefore,
} from './block-reader.js';
import { BlockWriter } from './block-writer.js';
import { ClusterRing } from './cluster-ring.js';
import { EventStream, type ReadOf, type StreamFacts } from './event-stream.js';
import { checkBusCall } from './history-messages.js';
import { OwnFrames, type OwnJournal } from './own-frames.js';
import { type BlockSink, Publisher, WrongSequence } from './publisher.js';
import { Sessions } from './sessions.js';

const RETRY_MS = 500;
/** How often JetStream is asked where the stream is, in ms. The second answer shows that reading is stalled. */
const LOOK_MS = 1000;
const STALLED = 'events of the cluster do not arrive from NATS';
/** More than the frames of any message: where nobody has counted, numbers continue after all that can have been used. */
const MOST_FRAMES = 8192;
/** Nodes whose last block is remembered. Without a key anybody can publish as any node. */
const MAX_NODES = 1000;

export interface BusPeers {
  /** @param isBlind no other node could tell which bots there are. */
  ready(stream: StreamIdentity, isBlind: boolean): void;
  changed(status: BusStatus, notice: string | null): void;
  fenced(): void;
  /** There are new frames for a front. */
  wake(front: number): void;
  /** JSON of the `session` events of this node's bots. */
  ownSessions(): Promise<string[]>;
}

/** A block that was written to the ring, the number of its first frame, and the sequence of its message. */
export type BlockListener = (block: ReadBlock, first: number, seq: number) => void;

export class ClusterBus {
  readonly #start: ClusterBusStart;
  readonly #peers: BusPeers;
  readonly #names;
  readonly #link: NatsLink;
  readonly #ring: RingReader;
  readonly #frames: OwnFrames;
  readonly #publisher: Publisher;
  readonly #figures: BusFigures;
  readonly #sessions = new Sessions();
  readonly #signer: Signer;
  /** To the bus threads of other nodes. Rejects when the bus is closed before the first connection. */
  readonly calls: Promise<NodeCalls>;
  readonly #listeners: BlockListener[] = [];
  readonly #joinListeners: (() => void)[] = [];
  /** The last block of each node that was read since the stream was joined. */
  readonly #blocks = new Map<string, ReadOf['block']>();
  /** Who waits for messages. */
  readonly #waiting: { seq: number; done: Deferred }[] = [];
  #cluster: ClusterRing | undefined;
  #stream: EventStream | undefined;
  /** Sequence of the last message on the ring. */
  #seq = 0;
  /** What its reader has read: a block that is published again is told apart by that. */
  #upTo: ReadUpTo = { seq: 0, last: new Map() };
  /** And of the last one on the stream, as far as is known. */
  #streamLast = 0;
  /** Nothing is behind any more once this message is on the ring; Infinity until JetStream was asked where the stream is. */
  #onFrom = Number.POSITIVE_INFINITY;
  #state: BusStatus['state'] = 'joining';
  #reason: string | null = null;
  /** Why nothing is published, null when it is. */
  #publishing: string | null = null;
  /** The bots whose unpublished frames count, while the node holds its lease. */
  #keep: string[] | null = null;
  /** The publisher has been told so. */
  #isOpen = false;
  #tail = new AbortController();
  /** Asks JetStream now; null while the stream is not followed. */
  #look: (() => Promise<void>) | null = null;
  #isClosing = false;
  readonly #ended = new Deferred();

  constructor(start: ClusterBusStart, peers: BusPeers) {
    const { config, local, reader, incarnation, first } = start;
    this.#start = start;
    this.#peers = peers;
    this.#names = clusterNames(config.name);
    this.#signer = new Signer(start.signer);
    this.#ring = new RingReader(local.ring, reader);
    this.#frames = new OwnFrames(this.#ring, local.epoch);
    this.#figures = new BusFigures(start.figures, local.ring);
    this.#publisher = new Publisher({
      frames: this.#frames,
      node: config.node,
      incarnation,
      epoch: local.epoch,
      first,
      total: () => this.#total,
      moved: (next) => {
        this.#figures.next = next;
      },
      fenced: () => peers.fenced(),
      failed: (thrown) => this.#publishes(thrown === null ? null : reasonOf(thrown)),
    });
    this.#link = new NatsLink({
      config,
      name: `drover ${config.node} (events)`,
      onChange: ({ isConnected, reason }) => {
        if (isConnected) {
          this.#publisher.wake();
          void this.#look?.();
        } else if (reason !== null) this.#cutOff(reason);
      },
      say: (line) => peers.changed(this.status, line),
    });
    this.calls = this.#link.connected().then((connection) => this.#callsOn(connection));
    this.calls.catch(() => {});
    void this.#run();
  }

  get status(): BusStatus {
    const isOn = this.#state === 'on' && this.#publishing === null;
    return {
      state: isOn || this.#state !== 'on' ? this.#state : 'cut_off',
      reason: this.#reason ?? this.#publishing,
    };
  }

  /** The stream on JetStream, once it was joined. */
  get stream(): EventStream | undefined {
    return this.#stream;
  }

  /** This node's ring of it. */
  get ring(): ClusterRing | undefined {
    return this.#cluster;
  }

  /** @param listener is called for each block, before fronts see its frames. */
  onBlock(listener: BlockListener): void {
    this.#listeners.push(listener);
  }

  /** @param listener is called before blocks come, each time that the stream is joined. */
  onJoin(listener: () => void): void {
    this.#joinListeners.push(listener);
  }

  /** Sequence of the last message that is on the ring. */
  get seq(): number {
    return this.#seq;
  }

  /** Own frames from this number on are not on the stream yet, as far as is known. */
  get pendingFrom(): number {
    return this.#publisher.next;
  }

  /** Why the cluster cannot be asked, null when it can. */
  get cutOffReason(): string | null {
    return this.#state === 'on' ? null : (this.#reason ?? 'it is connecting');
  }

  /** @returns false when the messages up to `seq` are not on the ring in time. */
  readUpTo(seq: number, withinMs: number): Promise<boolean> {
    const done = this.#readUpTo(seq).then(
      () => true,
      () => false,
    );
    return withTimeout(done, withinMs, () => false);
  }

  /** @returns false when the messages that the stream has now are not on the ring in time. @throws an error of JetStream. */
  async readAll(withinMs: number): Promise<boolean> {
    const facts = await this.#stream?.facts();
    return facts !== undefined && this.readUpTo(facts.last, withinMs);
  }

  set journal(journal: OwnJournal | null) {
    this.#frames.journal = journal;
  }

  /** There are new frames on the node's own ring. */
  wake(): void {
    this.#publisher.wake();
  }

  /** `session` events of all bots of the cluster, as of just before frame `next` of the ring. */
  baseline(): { next: number; sessions: string[] } {
    return { next: this.#cluster?.next ?? 0, sessions: this.#sessions.all() };
  }

  /** The node holds its lease. */
  publish(keep: string[]): void {
    this.#keep = keep;
    this.#isOpen = false;
    if (this.#stream) this.#open(this.#stream, keep);
  }

  /** The node has lost its lease. */
  hold(): void {
    this.#keep = null;
    this.#isOpen = false;
    this.#publisher.hold();
  }

  /** @returns whether all frames that exist now are on the stream, after waiting up to `withinMs`. @param isLast no others come. */
  flush(withinMs: number, isLast: boolean): Promise<boolean> {
    const done = isLast ? this.#publisher.finished() : this.#publisher.flushed();
    return withTimeout(
      done.then(() => true),
      withinMs,
      () => false,
    );
  }

  /**
   * Ends the place of a node on the stream, and says that its bots are lost. Declares a gap unless the run of the node that is lost had
   * published all that it had, or was fenced before.
   * @param of incarnation of that run, null when it is not known. @param deleted ids of bots of which it has not said that.
   * @returns the other bots that it has, as it has said. @throws an error of JetStream; DroverError when the stream is not there.
   */
  async fence(
    node: string,
    of: string | null,
    bots: readonly LostBot[],
    deleted: readonly string[] = [],
  ): Promise<string[]> {
    const stream = this.#stream;
    if (!stream) throw new Error('the stream of the cluster is not there');
    const sink = this.#sink(stream, node);
    const left: (LostBot | string)[] = [...bots, ...deleted];
    do {
      const last = await sink.last(1);
      // What the node has published is then part of the snapshots.
      if (last) await this.#readUpTo(last.seq);
      const after = last?.seq ?? 0;
      const head = last?.block?.head;
      const { epoch = '', next = 0 } = head ?? {};
      const writer = new BlockWriter();
      const now = Date.now();
      // What it has not published is lost to the stream, or comes when it is back. Nobody here knows what that is.
      const told = head?.type === 'fence' ? head.of : head?.end && head.incarnation;
      if (!told || (of !== null && told !== of)) {
        const lost = eventId(epoch, next);
        writer.add(KIND_CODE.gap, NO_LEVEL, null, null, gapJson(lost, lost, null));
      }
      let taken = 0;
      while (taken < left.length && !writer.isFull) {
        const bot = left[taken] as LostBot | string;
        const isDeleted = typeof bot === 'string';
        const id = isDeleted ? bot : bot.id;
        const json = isDeleted
          ? this.#sessions.deleted(bot, node, now)
          : this.#sessions.lost(bot, node, now);
        if (json !== null) writer.add(KIND_CODE.session, NO_LEVEL, id, null, json);
        taken += 1;
      }
      const { incarnation } = this.#start;
      const bytes = writer.finish(
        {
          ...{ node, incarnation, type: 'fence', epoch, first: next, next, at: this.#total },
          ...(of !== null && { of }),
        },
        sink.sign(after),
      );
      try {
        const seq = await sink.publish(bytes, after);
        left.splice(0, taken);
        if (left.length === 0) await this.#readUpTo(seq);
      } catch (thrown) {
        // A block of the node came first.
        if (!(thrown instanceof WrongSequence)) throw thrown;
      }
    } while (left.length > 0);
    const told = new Set(bots.map(({ id }) => id));
    return this.#sessions.on(node).filter((id) => !told.has(id));
  }

  /** `session` events of the bots that a node has, as it has said, each as if it had been deleted now. */
  deletedOn(node: string): string[] {
    return this.#sessions
      .on(node)
      .flatMap((id) => this.#sessions.deleted(id, node, Date.now()) ?? []);
  }

  /** Publishes what is left, for at most `withinMs`. */
  async close(withinMs: number): Promise<void> {
    if (this.#keep !== null) await this.flush(withinMs, true);
    this.#isClosing = true;
    this.#publisher.end();
    this.#tail.abort();
    this.calls.then(
      (calls) => calls.close(),
      () => {},
    );
    await this.#link.close();
    await this.#ended.promise;
  }

  get #total(): Total {
    return { seq: this.#seq, total: (this.#cluster?.next ?? 1) - 1 };
  }

  #callsOn(connection: NatsConnection): NodeCalls {
    const { node } = this.#start.config;
    return new NodeCalls(connection, {
      context: 'question',
      subject: this.#names.bus,
      node,
      signer: this.#signer,
      check: checkBusCall,
    });
  }

  async #run(): Promise<void> {
    while (!this.#isClosing) {
      try {
        const connection = await this.#link.connected();
        this.#stream = await EventStream.open(
          connection,
          this.#names,
          this.#start.config,
          this.#signer,
        );
        await this.#join(this.#stream);
        await this.#follow(this.#stream);
      } catch (thrown) {
        if (!this.#isClosing) this.#cutOff(reasonOf(thrown));
      }
      if (!this.#isClosing) await delay(RETRY_MS);
    }
    this.#ended.resolve();
  }

  /** Makes sure that there is a ring from which the stream can be followed. */
  async #join(stream: EventStream): Promise<void> {
    const facts = await stream.facts();
    const ring = this.#cluster;
    const isSame = ring?.identity.epoch === facts.epoch && this.#seq <= facts.last;
    if (isSame && (await hasNext(stream, this.#seq, facts))) return;
    const other = await askBaseline(await this.calls);
    const isUsable = other?.epoch === facts.epoch && (await hasNext(stream, other.seq, facts));
    const usable = isUsable ? other : null;
    if (usable) this.#sessions.reset(usable.sessions);
    else this.#sessions.reset(await this.#peers.ownSessions());
    // On a stream that was made again each node publishes the snapshots of its bots.
    const isRead = ring !== undefined && ring.identity.epoch !== facts.epoch && facts.first <= 1;
    const { seq, total } =
      usable ?? (isRead ? { seq: 0, total: 0 } : await this.#count(stream, facts));
    this.#seq = seq;
    this.#blocks.clear();
    this.#upTo = { seq, last: new Map(Object.entries(usable?.last ?? {})) };
    if (ring?.identity.epoch !== facts.epoch) {
      // What is waited for does not come on this one.
      const remade = new Error('the stream of the cluster was made again');
      for (const { done } of this.#waiting.splice(0)) done.reject(remade);
    }
    this.#reachedSeq(seq);
    const { ringBytes, fronts } = this.#start;
    this.#cluster = new ClusterRing(facts.epoch, total + 1, ringBytes, fronts, this.#sessions);
    this.#peers.ready(this.#cluster.identity, usable === null && !isRead);
  }

  /** How many frames the stream has had: a block says it as of a message before it, the rest is counted. */
  async #count(stream: EventStream, { first, last }: StreamFacts): Promise<Total> {
    if (last === 0) return { seq: 0, total: 0 };
    const reader = stream.reader();
    const newest = await reader.at(last);
    // Who counts on after the same message that was deleted counts the same.
    const missing = (seq: number): number | null => (seq < first ? null : seq * MOST_FRAMES);
    const before = await totalBefore(reader, last, missing);
    const total = before === null ? last * MOST_FRAMES : before + (newest?.head.count ?? 0);
    return { seq: last, total };
  }

  /** Writes what comes to the ring. Returns when it has to be joined again. */
  async #follow(stream: EventStream): Promise<void> {
    // One that this release cannot read has ended it before: it is not `on` until it was updated.
    await stream.reader().at(this.#seq + 1);
    const reader = stream.reader(this.#upTo);
    const tail = new AbortController();
    this.#tail = tail;
    for (const listener of this.#joinListeners) listener();
    const { node } = this.#start.config;
    const unserve = serveBaseline(await this.calls, node, () => this.#offered());
    let isDelivered = false;
    this.#onFrom = Number.POSITIVE_INFINITY;
    this.#look = this.#looker(stream, reader, tail, () => isDelivered);
    const look = setInterval(() => void this.#look?.(), LOOK_MS);
    void this.#look();
    if (this.#keep) this.#open(stream, this.#keep);
    try {
      const consumed = await stream.consume(this.#seq + 1);
      isDelivered = true;
      const close = (): void => void consumed.close();
      tail.signal.addEventListener('abort', close);
      if (tail.signal.aborted) close();
      for await (const { seq, subject, data } of consumed) {
        // It was fetched meanwhile.
        if (seq <= this.#seq) continue;
        // Messages have left the window before they were read.
        if (seq !== this.#seq + 1) return;
        await this.#take(reader, { seq, node: stream.nodeOf(subject), bytes: data });
      }
    } finally {
      tail.abort();
      this.#look = null;
      clearInterval(look);
      unserve();
    }
  }

  /** Writes the next message to the ring. */
  async #take(reader: BlockReader, message: StreamMessage): Promise<void> {
    const { seq } = message;
    const block = await reader.read(message);
    // It was delivered and fetched.
    if (seq !== this.#seq + 1) return;
    this.#write(block, seq);
    this.#seq = seq;
    if (block.head.type !== 'none') this.#remember(message.node, { seq, head: block.head });
    this.#figures.behind = Math.max(0, this.#streamLast - seq);
    this.#reachedSeq(seq);
    this.#mayBeOn();
  }

  /**
   * @returns a function that asks JetStream whether the stream is still the one that is read, for it can be deleted and made again, and
   *   whether it is read: what delivers its messages can end unseen with its server, and the client waits for 30 s and more then. Until
   *   JetStream has replaced it, messages are fetched.
   * @param reader of what is read. @param isDelivered whether something delivers messages, which is replaced if it stalls.
   */
  #looker(
    stream: EventStream,
    reader: BlockReader,
    tail: AbortController,
    isDelivered: () => boolean,
  ): () => Promise<void> {
    /** Of the answer before: how far the stream was, and how far it was read; and whether it was delivered then. */
    let before = { last: 0, seq: -1, wasDelivered: false };
    let isAsking = false;
    const ask = async (): Promise<void> => {
      const { epoch, last } = await stream.facts();
      if (tail.signal.aborted) return;
      if (epoch !== this.#cluster?.identity.epoch) return tail.abort();
      const seq = this.#seq;
      this.#streamLast = last;
      this.#figures.behind = Math.max(0, last - seq);
      const isStalled = seq === before.seq && seq < before.last;
      if (isStalled) this.#cutOff(STALLED);
      this.#onFrom = last;
      if (isStalled) await this.#fetch(stream, reader, last, tail.signal);
      this.#mayBeOn();
      if (isStalled && before.wasDelivered) tail.abort();
      before = { last, seq: this.#seq, wasDelivered: isDelivered() };
    };
    return async () => {
      if (isAsking) return;
      isAsking = true;
      await ask().catch((thrown: unknown) => {
        if (tail.signal.aborted) return;
        this.#cutOff(reasonOf(thrown));
        tail.abort();
      });
      isAsking = false;
    };
  }

  /** Reads up to the message `last`, one by one. */
  async #fetch(
    stream: EventStream,
    reader: BlockReader,
    last: number,
    signal: AbortSignal,
  ): Promise<void> {
    while (this.#seq < last && !signal.aborted) {
      const message = await stream.at(this.#seq + 1);
      // It has left the window, which the next join finds out; or it was delivered meanwhile.
      if (!message || signal.aborted) return;
      if (message.seq === this.#seq + 1) await this.#take(reader, message);
    }
  }

  #open(stream: EventStream, keep: readonly string[]): void {
    const sink = this.#sink(stream, this.#start.config.node);
    // Frames that came since are of bots that were placed here since.
    if (this.#isOpen) this.#publisher.resume(sink);
    else this.#publisher.open(sink, keep);
    this.#isOpen = true;
  }

  #sink(stream: EventStream, node: string): BlockSink {
    return stream.sink(node, () => ({ seq: this.#seq, block: this.#blocks.get(node) ?? null }));
  }

  #remember(node: string, block: ReadOf['block']): void {
    this.#blocks.delete(node);
    this.#blocks.set(node, block);
    const [oldest] = this.#blocks.keys();
    if (this.#blocks.size > MAX_NODES && oldest !== undefined) this.#blocks.delete(oldest);
  }

  #write(block: ReadBlock, seq: number): void {
    const ring = this.#cluster as ClusterRing;
    const first = ring.next;
    ring.write(block);
    for (const listener of this.#listeners) listener(block, first, seq);
    for (const front of ring.publish()) this.#peers.wake(front);
  }

  #offered() {
    const ring = this.#cluster;
    if (!ring || this.#state !== 'on') return null;
    // One that is read just now is not on the ring yet.
    const read = [...this.#upTo.last].filter(([, seq]) => seq <= this.#seq);
    const last = Object.fromEntries(read);
    return { epoch: ring.identity.epoch, ...this.#total, last, sessions: this.#sessions.all() };
  }

  /** Resolves when the messages up to `seq` are on the ring. */
  async #readUpTo(seq: number): Promise<void> {
    if (this.#seq >= seq) return;
    const done = new Deferred();
    this.#waiting.push({ seq, done });
    await done.promise;
  }

  #reachedSeq(seq: number): void {
    for (const [at, waiting] of [...this.#waiting.entries()].reverse()) {
      if (waiting.seq > seq) continue;
      this.#waiting.splice(at, 1);
      waiting.done.resolve();
    }
  }

  /** What the stream had at the last look was read: a busy stream always has more by now. */
  #mayBeOn(): void {
    if (this.#seq >= this.#onFrom) this.#set('on', null);
  }

  #cutOff(reason: string): void {
    this.#onFrom = Number.POSITIVE_INFINITY;
    this.#set(this.#cluster ? 'cut_off' : 'joining', reason);
  }

  #publishes(reason: string | null): void {
    if (reason === this.#publishing) return;
    this.#publishing = reason;
    this.#peers.changed(this.status, null);
  }

  #set(state: BusStatus['state'], reason: string | null): void {
    if (state === this.#state && reason === this.#reason) return;
    this.#state = state;
    this.#reason = reason;
    this.#peers.changed(this.status, null);
  }
}

/** Whether the stream can be read on after a message: the next one has neither left the window nor was it deleted. */
async function hasNext(
  stream: EventStream,
  seq: number,
  { first, last }: StreamFacts,
): Promise<boolean> {
  return seq + 1 >= first && (seq >= last || (await stream.at(seq + 1)) !== null);
}
