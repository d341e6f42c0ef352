// Runs in a front thread. Owns the front's subscribers: a cursor each, never a queue.
//
// A pass sends every subscriber the frames between its cursor and the head. Those for which the filter index has found nothing
// are parked: a pass leaves them out.
//
// Pacing. An event on an idle stream is sent at once: a short pass after a pause has no rest. After any other pass that took d
// the front rests for d, 1 to 20 ms, and frames that arrive meanwhile are sent in one piece: one write of 80 KB costs a third
// less CPU than two of 40 KB. The longer the rest, the later an event: docs/BENCHMARKS.md has the CPU and the latency of rests of
// 5 to 40 ms. A subscriber gets one write per pass, so that all who are behind move through the ring in step and share what is
// gathered. A few who are further behind get more writes during the rest; when it is most of them there is no rest.
//
// A pass runs in slices of at most 2 ms, by the bytes written too; HTTP requests run between slices.

import { FLUSH_BOUNDS, FRONT_CELLS } from '../../shared/contract/metric-layout.js';
import { Deferred } from '../../shared/deferred.js';
import type { Counters } from '../../shared/memory/counters.js';
import type { NodeNames } from '../../shared/memory/node-names.js';
import type { RingReader } from '../../shared/memory/ring-reader.js';
import type { Filter } from '../../shared/stream/filter.js';
import { HEARTBEAT } from '../../shared/stream/stream-text.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { StreamSink } from '../engine/engine.js';
import { FilterIndex } from './filter-index.js';
import { GatherArena } from './gather-arena.js';
import type { SnapshotFrames } from './initial-state.js';
import { Keepalive, type KeepaliveOptions } from './keepalive.js';
import { ParkedSubscribers } from './parked-subscribers.js';
import { type ReplaySource, Replays } from './replays.js';
import { StreamStarts, type SubscribeOptions } from './stream-starts.js';
import { LEFT, LIVE, REPLAYING, Subscriber, type SubscribeStart } from './subscriber.js';
import { SubscriberGroup } from './subscriber-group.js';
import { SubscriberList } from './subscriber-list.js';
import { WriteSizes, type WriteSizesOptions } from './write-sizes.js';

/** Longest time that streams block requests, in ms. */
const SLICE_MS = 2;
/**
 * Shortest rest after a pass, in ms. It delays an event that directly follows another, and bounds the wake-ups under load,
 * each of which costs the broadcaster as much as ten events.
 */
const MIN_REST_MS = 1;
/**
 * A short pass that comes so long after the last one has no rest, in ms: a rest would wake the front once more for each event
 * of a low rate. It is less than the time for which hosts gather while a stream is open.
 */
const PAUSE_MS = 4;
/**
 * Longest rest, in ms. With 1,000 streams at 10,000 events/s the service needs a sixth less CPU than with 5 ms, and the median
 * event is 25 ms later; with 40 ms it needs little less than with 20, and the median event is another 30 ms later.
 */
const MAX_REST_MS = 20;
/**
 * Share of subscribers that may catch up between two passes. When more are behind, the next pass follows at once: it has new
 * frames for them too.
 */
const MOST_LATE = 0.5;
/** Subscribers, or bytes written, between two reads of the clock. */
const CLOCK_EVERY = 16;
const CLOCK_BYTES = 256 * 1024;

export interface FanoutOptions extends KeepaliveOptions {
  reader: RingReader;
  /** On the stream of a cluster: the nodes that frames are from. */
  nodes?: NodeNames | undefined;
  writes: WriteSizesOptions;
  /** Snapshot frames for a new or lost subscriber; keeps the mirror current. */
  snapshots: SnapshotFrames;
  /** Frames that have left the ring. */
  journal: ReplaySource;
  counters: Counters;
}

export class Fanout {
  readonly #options: FanoutOptions;
  readonly #counters: Counters;
  /** Blocked streams that this pass has swept, and those that the counter has: another stream's fan-out counts there too. */
  #blocked = 0;
  #countedBlocked = 0;
  /** The subscribers that a pass serves. */
  readonly #subscribers = new SubscriberList();
  /** The others: no new frame matches their filters. */
  readonly #parked = new ParkedSubscribers();
  readonly #groups = new Map<string, SubscriberGroup>();
  readonly #index: FilterIndex;
  /** The index has examined all frames of the pass; otherwise the next one has the rest. */
  #isExamined = true;
  readonly #arena = new GatherArena();
  /** `idle` waits for the doorbell, `resting` after a pass. */
  #state: 'idle' | 'passing' | 'resting' = 'idle';
  #head = 0;
  /** Another pass was requested during this one. */
  #woken = false;
  /** Subscribers that could accept more at once. */
  #late: Subscriber[] = [];
  /** When the next pass begins, while some catch up, by performance.now(). */
  #restUntil = 0;
  #passMs = 0;
  /** When this pass began, by performance.now(), and how long after the last one. */
  #beganAt = 0;
  #pauseMs = 0;
  /** Bytes written since the clock was last read. */
  #unclockedBytes = 0;
  readonly #sizes: WriteSizes;
  readonly #keepalive: Keepalive;
  readonly #starts: StreamStarts;
  /** Streams that are behind the ring. */
  readonly #replays: Replays;
  /** Whether this pass also sends heartbeats and closes stalled streams. */
  #sweeping = false;
  #closing: { head: number; done: Deferred } | undefined;
  /** The last announcement, and whether new streams get it too. */
  #notice: Uint8Array | undefined;
  #isForNew = false;

  constructor(options: FanoutOptions) {
    this.#options = options;
    this.#sizes = new WriteSizes(options.writes);
    this.#replays = new Replays(options.journal, options.writes.sizes[0] as number, {
      write: (subscriber, bytes) => this.#write(subscriber, bytes),
      missing: (subscriber, next) => this.#missing(subscriber, next),
      lost: (subscriber) => this.#lost(subscriber),
      arrived: () => this.wake(),
      live: () => this.size - this.#replays.size,
      writeBytes: (subscriber) => this.#sizes.next(subscriber),
      isOnRing: (cursor, filter) => this.#starts.isOnRing(cursor, filter),
    });
    this.#counters = options.counters;
    this.#index = new FilterIndex(options.reader, options.nodes);
    this.#starts = new StreamStarts({
      ...options,
      maxWriteBytes: options.writes.sizes[0] as number,
      isShared: options.nodes !== undefined,
    });
    this.#keepalive = new Keepalive(options, {
      write: (subscriber, bytes) => this.#write(subscriber, bytes),
      evict: (subscriber) => {
        this.#counters.add(FRONT_CELLS.evictions, 1);
        subscriber.sink.close();
      },
      wake: () => this.wake(),
    });
  }

  get size(): number {
    return this.#subscribers.size + this.#parked.list.size;
  }

  add(sink: StreamSink, wanted: SubscribeOptions): Subscriber {
    const { filter, removed } = wanted;
    const subscriber = new Subscriber(sink, this.#group(filter), removed, wanted.isOwn);
    if (!this.#isForNew) subscriber.notice = this.#notice;
    this.#subscribers.push(subscriber);
    this.#keepalive.begin();
    const replays = this.#starts.begin(subscriber, wanted, this.#replays.isThere);
    if (replays) this.#replays.add(subscriber);
    // Waits a turn, because a request handler calls this and its cork has room for the headers only.
    setImmediate(() => this.wake());
    return subscriber;
  }

  /** Removes a stream that was closed. */
  remove(subscriber: Subscriber): void {
    if (subscriber.hasLeft) return;
    this.#replays.remove(subscriber);
    this.#sizes.release(subscriber);
    if (subscriber.isParked) this.#parked.remove(subscriber);
    else this.#subscribers.remove(subscriber);
    subscriber.state = LEFT;
    this.#leave(subscriber.group);
    subscriber.removed();
    if (this.size === 0) this.#noStreams();
    this.#checkClosed();
  }

  /** The client accepts bytes again. */
  writable(subscriber: Subscriber): void {
    subscriber.blockedAt = 0;
    this.#sizes.release(subscriber);
    // uWebSockets keeps the rest of its buffer until the next write; a silent stream would wait for its heartbeat.
    this.#write(subscriber, HEARTBEAT);
    this.wake();
  }

  /** There are new frames, or a subscriber is behind. */
  wake(): void {
    if (this.#state === 'idle') this.#begin();
    else this.#woken = true;
  }

  /**
   * Sends a block without an id to every stream, between two frames. A stream that takes nothing now gets the last one later.
   * @param isOver new streams need not get it.
   */
  announce(block: Uint8Array, isOver: boolean): void {
    this.#notice = block;
    this.#isForNew = !isOver;
    for (const group of this.#groups.values()) this.#unpark(group);
    this.wake();
  }

  /** Ends the streams that did not ask for this node: another stream is what they get now. */
  endDefault(): void {
    for (const subscriber of this.#all()) if (!subscriber.isOwn) this.#endNow(subscriber);
  }

  /** Ends all streams at once. */
  endAll(): void {
    for (const subscriber of this.#all()) this.#endNow(subscriber);
  }

  /** Ends every subscriber after the frames below `head`. Resolves then, or after `withinMs`. */
  async finish(head: number, withinMs: number): Promise<void> {
    const closing = { head, done: new Deferred() };
    this.#closing = closing;
    for (const group of this.#groups.values()) this.#unpark(group);
    this.wake();
    this.#checkClosed();
    await withTimeout(closing.done.promise, withinMs, () => {
      for (const subscriber of this.#subscribers.all()) subscriber.sink.close();
    });
    this.stop();
  }

  stop(): void {
    this.#keepalive.stop();
  }

  #begin(): void {
    this.#state = 'passing';
    this.#options.snapshots.sync();
    // There are new frames since the last pass, so nothing gathered before is reusable.
    this.#arena.restart();
    this.#head = this.#options.reader.head();
    this.#subscribers.begin();
    this.#parked.list.begin();
    this.#woken = false;
    this.#late = [];
    this.#passMs = 0;
    const now = performance.now();
    this.#pauseMs = now - this.#beganAt;
    this.#beganAt = now;
    this.#isExamined = this.#index.examine(this.#head);
    this.#sweeping = this.#keepalive.takeDue();
    this.#blocked = 0;
    this.#slice();
  }

  #slice(): void {
    const began = performance.now();
    let count = 0;
    for (let subscriber = this.#next(); subscriber; subscriber = this.#next()) {
      if (this.#serve(subscriber, this.#head)) this.#late.push(subscriber);
      if (this.#sweeping) {
        this.#keepalive.sweep(subscriber, began);
        if (subscriber.blockedAt !== 0 && !subscriber.hasLeft) this.#blocked += 1;
      }
      if (this.#isSliceOver(began, ++count, subscriber)) {
        this.#options.reader.release();
        this.#passMs += performance.now() - began;
        setImmediate(() => this.#slice());
        return;
      }
    }
    this.#options.reader.release();
    this.#passMs += performance.now() - began;
    this.#countPass();
    this.#rest();
  }

  /** Whether a slice that began then has lasted for its time. `count` is how many subscribers it has served. */
  #isSliceOver(began: number, count: number, { group }: Subscriber): boolean {
    const look =
      count % CLOCK_EVERY === 0 ||
      this.#unclockedBytes >= CLOCK_BYTES ||
      // Checks the clock after each scan, because one scan of a filter can take long.
      group.filter !== null;
    if (!look) return false;
    this.#unclockedBytes = 0;
    return performance.now() - began > SLICE_MS;
  }

  /** The next subscriber of the pass. Those that are parked take part in sweeps only. */
  #next(): Subscriber | undefined {
    return this.#subscribers.next() ?? (this.#sweeping ? this.#parked.list.next() : undefined);
  }

  #countPass(): void {
    if (this.#sweeping) this.#countBlocked(this.#blocked);
    if (this.size > 0) this.#counters.observe(FRONT_CELLS.flush, FLUSH_BOUNDS, this.#passMs / 1000);
  }

  #rest(): void {
    if (!this.#isExamined || this.#late.length > this.size * MOST_LATE) {
      setImmediate(() => this.#begin());
      return;
    }
    // Without streams nobody waits for a frame: REST reads take the mirror to the head before they answer. The front wakes
    // only so often that the ring does not lap the mirror.
    if (this.size === 0 && !this.#woken) {
      this.#state = 'idle';
      this.#options.reader.armForStep();
      return;
    }
    const isShort = this.#passMs < MIN_REST_MS && this.#late.length === 0;
    if (isShort && this.#pauseMs >= PAUSE_MS && !this.#woken) {
      this.#rested();
      return;
    }
    this.#state = 'resting';
    const wantedMs = this.#woken ? MIN_REST_MS : Math.min(this.#passMs, MAX_REST_MS);
    const restMs = Math.max(MIN_REST_MS, wantedMs);
    if (this.#late.length === 0) {
      setTimeout(() => this.#rested(), restMs);
      return;
    }
    this.#restUntil = performance.now() + restMs;
    setImmediate(() => this.#catchUp());
  }

  #rested(): void {
    this.#state = 'idle';
    if (this.#woken || !this.#options.reader.arm(this.#head)) this.#begin();
  }

  /** Serves the subscribers that are behind, one write each at a time, until the next pass is due. */
  #catchUp(): void {
    const began = performance.now();
    const late = this.#late;
    this.#late = [];
    let count = 0;
    for (const subscriber of late) {
      count += 1;
      if (this.#serve(subscriber, this.#head)) this.#late.push(subscriber);
      if (this.#isSliceOver(began, count, subscriber)) break;
    }
    this.#options.reader.release();
    // Moves the served subscribers to the end.
    this.#late = [...late.slice(count), ...this.#late];
    const leftMs = this.#restUntil - performance.now();
    if (this.#late.length === 0) setTimeout(() => this.#rested(), Math.max(0, leftMs));
    else setImmediate(() => (leftMs > 0 ? this.#catchUp() : this.#begin()));
  }

  /** Serves one subscriber: at most one write. @returns whether it could accept more now. */
  #serve(subscriber: Subscriber, head: number): boolean {
    if (subscriber.blockedAt !== 0 || subscriber.isParked || subscriber.hasLeft) return false;
    if (subscriber.state.type === 'starting') {
      const { start } = subscriber.state;
      if (!this.#starts.prepare(subscriber, start)) return start.isSlow === true;
    }
    if (subscriber.state.type === 'initial') {
      const part = subscriber.state.parts.next();
      if (part) {
        this.#write(subscriber, part);
        return true;
      }
      subscriber.state = this.#replays.has(subscriber) ? REPLAYING : LIVE;
    }
    if (subscriber.notice !== this.#notice) {
      subscriber.notice = this.#notice;
      if (this.#notice) this.#write(subscriber, this.#notice);
      return subscriber.blockedAt === 0;
    }
    if (subscriber.state === REPLAYING) {
      this.#replays.resume(subscriber);
      return false;
    }
    if (subscriber.cursor < head) this.#advance(subscriber, head);
    if (subscriber.blockedAt !== 0 || subscriber.hasLeft) return false;
    if (subscriber.state === REPLAYING) return false;
    if (subscriber.cursor < head || subscriber.state !== LIVE) return true;
    if (this.#closing && subscriber.cursor >= this.#closing.head) this.#end(subscriber);
    return false;
  }

  #advance(subscriber: Subscriber, head: number): void {
    const { filter } = subscriber.group;
    const isThere = subscriber.cursor >= (filter?.since ?? 0);
    if (!isThere || !this.#options.reader.protect(subscriber.cursor)) {
      if (subscriber.resumes && this.#replays.isThere) this.#replays.add(subscriber);
      else this.#startAgain(subscriber, this.#starts.over(subscriber));
      return;
    }
    const { bytes, next } = subscriber.group.next(
      subscriber.cursor,
      head,
      this.#sizes.next(subscriber),
    );
    subscriber.cursor = next;
    if (bytes.length === 0) {
      this.#park(subscriber);
      return;
    }
    this.#counters.add(FRONT_CELLS.frames, subscriber.group.frames);
    this.#write(subscriber, bytes);
  }

  /** The journal lacks part of what a replaying stream needs. */
  #missing(subscriber: Subscriber, next: number): void {
    this.#startAgain(subscriber, this.#starts.afterHole(subscriber, next));
    this.wake();
  }

  /** The journal has nothing for a replaying stream: it continues on the ring. */
  #lost(subscriber: Subscriber): void {
    if (subscriber.cursor < this.#starts.oldest(subscriber.group.filter)) {
      this.#startAgain(subscriber, this.#starts.over(subscriber));
    }
    this.wake();
  }

  #startAgain(subscriber: Subscriber, start: SubscribeStart): void {
    subscriber.state = { type: 'starting', start };
  }

  #write(subscriber: Subscriber, bytes: Uint8Array): void {
    const now = performance.now();
    this.#counters.add(FRONT_CELLS.bytes, bytes.length);
    this.#counters.add(FRONT_CELLS.writes, 1);
    this.#unclockedBytes += bytes.length;
    subscriber.writtenAt = now;
    if (subscriber.sink.write(bytes)) {
      this.#sizes.accepted(subscriber, bytes.length);
    } else {
      subscriber.blockedAt = now;
      this.#sizes.blocked(subscriber, bytes);
    }
  }

  #end(subscriber: Subscriber): void {
    subscriber.sink.end();
    this.remove(subscriber);
  }

  /** Ends a stream, or cuts it when it is blocked: its response could not end, and no sweep closes it any more. */
  #endNow(subscriber: Subscriber): void {
    if (subscriber.blockedAt === 0) this.#end(subscriber);
    else subscriber.sink.close();
  }

  #group(filter: Filter | null): SubscriberGroup {
    const key = filter?.key ?? '';
    let group = this.#groups.get(key);
    if (!group) {
      const added = new SubscriberGroup(this.#options.reader, filter, this.#arena);
      filter?.begin();
      if (filter) added.indexed = this.#index.add(filter, () => this.#unpark(added));
      this.#groups.set(key, added);
      group = added;
    }
    group.members += 1;
    return group;
  }

  #countBlocked(blocked: number): void {
    this.#counters.add(FRONT_CELLS.blocked, blocked - this.#countedBlocked);
    this.#countedBlocked = blocked;
  }

  #all(): Subscriber[] {
    return [...this.#subscribers.all(), ...this.#parked.list.all()];
  }

  #noStreams(): void {
    this.#keepalive.end();
    this.#countBlocked(0);
  }

  #leave(group: SubscriberGroup): void {
    group.members -= 1;
    if (group.members > 0) return;
    this.#groups.delete(group.filter?.key ?? '');
    this.#parked.drop(group);
    if (group.indexed) this.#index.remove(group.indexed);
    group.filter?.end();
  }

  /**
   * Parks a subscriber only after a scan without frames: one that gets a frame in most passes is served faster here.
   */
  #park(subscriber: Subscriber): void {
    if (this.#sweeping || this.#closing || !subscriber.group.isWaiting(subscriber.cursor)) return;
    this.#subscribers.remove(subscriber);
    this.#parked.add(subscriber);
  }

  /** A frame matches the group's filter: the next pass serves its members. */
  #unpark(group: SubscriberGroup): void {
    for (const subscriber of this.#parked.take(group)) this.#subscribers.push(subscriber);
  }

  #checkClosed(): void {
    if (this.#closing && this.size === 0) this.#closing.done.resolve();
  }
}
