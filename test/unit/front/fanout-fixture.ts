// Unit tests. A whole front's stream side on a ring in one thread, with model sockets, and what each must have received.

import { setTimeout } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { expect } from 'vitest';
import { Broadcaster } from '../../../src/broadcaster/broadcaster.js';
import { MirrorJudge } from '../../../src/front/bots/mirror-judge.js';
import { SnapshotMirror } from '../../../src/front/bots/snapshot-mirror.js';
import type { StreamSink } from '../../../src/front/engine/engine.js';
import { Fanout } from '../../../src/front/stream/fanout.js';
import { SnapshotFrames } from '../../../src/front/stream/initial-state.js';
import type { Subscriber } from '../../../src/front/stream/subscriber.js';
import type { BotSnapshot, Item } from '../../../src/shared/contract/events.js';
import { FRONT_CELLS } from '../../../src/shared/contract/metric-layout.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { Counters } from '../../../src/shared/memory/counters.js';
import { createRing, MAX_FRAME_BYTES, type SharedRing } from '../../../src/shared/memory/layout.js';
import { RingReader } from '../../../src/shared/memory/ring-reader.js';
import { parseFilter } from '../../../src/shared/stream/filter.js';
import { eventId } from '../../../src/shared/stream/frame.js';
import { HEARTBEAT } from '../../../src/shared/stream/stream-text.js';

export const EPOCH = 'abcdef0123';
const FIRST = 1;
/** A frame fits the smallest. */
export const WRITE_SIZES = [MAX_FRAME_BYTES, 131_072, 262_144];

/** A socket that takes so many bytes, then blocks until it is drained. */
export class ModelSocket implements StreamSink {
  readonly chunks: Buffer[] = [];
  /** When each chunk was written, by performance.now(). */
  readonly times: number[] = [];
  /** Bytes that it takes before it blocks; the write that exceeds them is still taken whole. */
  room = Number.POSITIVE_INFINITY;
  blocked = false;
  ended = false;
  closed = false;
  /** Heartbeats that came while it was blocked. */
  touches = 0;
  /** What a socket must never see. */
  readonly faults: string[] = [];
  /** How often the fan-out said that it has let go. */
  removals = 0;
  subscriber: Subscriber | undefined;
  onClosed: () => void = () => {};

  write(bytes: Uint8Array): boolean {
    // A blocked socket may be tried with a heartbeat now and then, with nothing else.
    const touch = this.blocked && Buffer.from(bytes).equals(HEARTBEAT);
    if (touch) this.touches += 1;
    else if (this.blocked) this.faults.push('written to while blocked');
    if (this.ended || this.closed) this.faults.push('written to after its end');
    if (bytes.length === 0 || bytes.length > 262_144) {
      this.faults.push(`a write of ${bytes.length} bytes`);
    }
    this.chunks.push(Buffer.from(bytes));
    this.times.push(performance.now());
    this.room -= bytes.length;
    this.blocked = this.room <= 0;
    return !this.blocked;
  }

  end(): void {
    if (this.ended || this.closed) this.faults.push('ended twice');
    this.ended = true;
  }

  close(): void {
    if (this.ended || this.closed) return;
    this.closed = true;
    this.onClosed();
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }
}

export type Pairs = readonly (readonly [string, string])[];

type Labels = Readonly<Record<string, string>>;
/** What a stream is limited to, as a token is. */
export type Limit = { bots: readonly string[] } | { labels: Labels } | null;

export interface Opened {
  socket: ModelSocket;
  query: Pairs;
  limit: Limit;
  /** The first frame that this stream has to account for. */
  from: number;
  /** Ids of another numbering stand in the first gap as they were sent. */
  lost: string | undefined;
  /** Whether its snapshots may be of a later moment than its beginning. */
  mayWait: boolean;
  /** Whether it begins with the snapshots. */
  snapshots: boolean;
}

export interface OpenOptions {
  query?: Pairs;
  limit?: Limit;
  lastEventId?: string;
  snapshots?: boolean;
  room?: number;
}

export class TestFront {
  readonly items: Item[] = [];
  readonly streams: Opened[] = [];
  // Not there yet while the first snapshots are taken.
  readonly fanout: Fanout;
  readonly mirror: SnapshotMirror;
  readonly reader: RingReader;
  readonly broadcaster: Broadcaster;
  readonly counters = Counters.alone(FRONT_CELLS.http);
  readonly #names = new NameHasher('key');
  /** Whether the broadcaster answers when the front asks it for the snapshots. */
  answers = true;
  rebases = 0;
  /** By bot: its labels from a frame on, null when it was deleted by that frame. */
  readonly #labels = new Map<string, { seq: number; labels: Labels | null }[]>();

  readonly #ring: SharedRing;

  /** @param before the front that this one is in the place of. */
  constructor(
    bytes: number,
    slots: number,
    times = { heartbeatMs: 60_000, stallMs: 60_000 },
    before?: TestFront,
  ) {
    this.#ring = before ? before.#ring : createRing({ bytes, slots, fronts: 2 }, FIRST);
    const identity = { ring: this.#ring, epoch: EPOCH, hashKey: 'key' };
    this.broadcaster = before?.broadcaster ?? new Broadcaster(identity, () => this.fanout.wake());
    if (before) {
      this.items.push(...before.items);
      for (const [id, changes] of before.#labels) this.#labels.set(id, [...changes]);
    }
    this.reader = new RingReader(this.#ring, before ? 1 : 0);
    // As in a front thread, the baseline arrives in a later turn of the event loop.
    this.mirror = new SnapshotMirror(this.reader, this.#names, async () => {
      this.rebases += 1;
      setImmediate(() => this.rebase());
    });
    this.rebase();
    this.fanout = new Fanout({
      reader: this.reader,
      epoch: EPOCH,
      writes: { sizes: WRITE_SIZES, maxHeldBytes: 2 ** 26, shared: false },
      snapshots: new SnapshotFrames(this.mirror, MAX_FRAME_BYTES),
      journal: { isThere: false, replay: () => Promise.reject(new Error('there is no journal')) },
      counters: this.counters,
      ...times,
    });
    this.fanout.wake();
  }

  /** A front on the same ring that knows nothing of what was before; this one goes. */
  replaced(): TestFront {
    this.abandon();
    return new TestFront(0, 0, undefined, this);
  }

  /** Takes all snapshots from the broadcaster. */
  rebase(): void {
    const { next, sessions } = this.broadcaster.baseline();
    if (!this.answers) return;
    this.mirror.reset(next, sessions);
    this.fanout?.wake();
  }

  get head(): number {
    return FIRST + this.items.length;
  }

  publish(items: readonly Item[]): void {
    for (const item of structuredClone(items)) {
      if (item.kind === 'session') this.#note(item.id, item.patch);
      this.items.push(item);
    }
    this.broadcaster.publish(items);
  }

  #note(id: string, { status, labels }: Partial<BotSnapshot>): void {
    const changes = this.#labels.get(id) ?? [];
    this.#labels.set(id, changes);
    const present = status === 'deleted' ? null : (labels ?? changes.at(-1)?.labels ?? {});
    changes.push({ seq: this.head, labels: present });
  }

  open({
    query = [],
    limit = null,
    lastEventId = '',
    snapshots = true,
    room = Number.POSITIVE_INFINITY,
  }: OpenOptions = {}): Opened {
    const socket = new ModelSocket();
    socket.room = room;
    const reach = limit && 'labels' in limit ? { ...limit, history: this.mirror.labels } : limit;
    const filter = parseFilter(
      query,
      this.#names,
      reach,
      undefined,
      (key, condition) => new MirrorJudge(this.mirror, key, condition),
    );
    socket.onClosed = () => socket.subscriber && this.fanout.remove(socket.subscriber);
    // A front that was lapped as a whole may begin a stream later, with newer snapshots.
    const mayWait = this.mirror.next < this.reader.tail();
    const id = new RegExp(`^${EPOCH}-(\\d+)$`).exec(lastEventId);
    const next = id ? Number(id[1]) + 1 : undefined;
    const resumes = next !== undefined && next <= this.head;
    const lost = lastEventId !== '' && !resumes ? lastEventId : undefined;
    const opened: Opened = {
      socket,
      query,
      limit,
      from: resumes ? next : this.head,
      lost,
      mayWait: mayWait && !resumes && lost === undefined,
      snapshots: snapshots && !resumes && lost === undefined,
    };
    this.streams.push(opened);
    socket.subscriber = this.fanout.add(socket, {
      filter,
      opening: 'retry: 1000\n',
      lastEventId,
      snapshots,
      isOwn: false,
      removed: () => {
        socket.removals += 1;
      },
    });
    return opened;
  }

  drain({ socket }: Opened, room = Number.POSITIVE_INFINITY): void {
    if (socket.subscriber === undefined || socket.ended || socket.closed) return;
    socket.room = room;
    if (!socket.blocked) return;
    socket.blocked = false;
    this.fanout.writable(socket.subscriber);
  }

  /** The client goes. */
  drop({ socket }: Opened): void {
    socket.close();
  }

  /** Waits until every open stream that takes bytes stands at the head. */
  async settle(): Promise<void> {
    const behind = ({ socket }: Opened): boolean =>
      !socket.ended &&
      !socket.closed &&
      !socket.blocked &&
      (socket.subscriber?.cursor !== this.head || !socket.subscriber.hasStarted);
    for (let turns = 0; this.streams.some(behind); turns++) {
      if (turns > 200) {
        const where = this.streams.filter(behind).map(({ socket }) => socket.subscriber?.cursor);
        throw new Error(`streams stay at ${where.join(', ')}, the head is ${this.head}`);
      }
      await setTimeout(1);
    }
  }

  /** Whether this frame passes the stream's filter and limit, seen on the event. */
  passes({ query, limit }: Pick<Opened, 'query' | 'limit'>, seq: number): boolean {
    const item = this.items[seq - FIRST] as Item;
    const session = item.kind === 'log' ? item.session_id : item.id;
    if (limit && !this.#reaches(limit, session, seq)) return false;
    const is = (name: string, value: string | null): boolean => {
      const given = query.filter(([key]) => key === name).flatMap(([, text]) => text.split(','));
      return given.length === 0 || (value !== null && given.includes(value));
    };
    return item.kind === 'log'
      ? is('event', 'log') &&
          is('level', item.level) &&
          is('session', item.session_id) &&
          is('scope', item.scope)
      : is('event', 'session') && is('level', null) && is('session', item.id) && is('scope', null);
  }

  /** Whether a frame's bot is one of those that the limit has: with labels, before the frame or from it on. */
  #reaches(limit: NonNullable<Limit>, session: string | null, seq: number): boolean {
    if (session === null) return false;
    if ('bots' in limit) return limit.bots.includes(session);
    const before = this.#labelsAt(session, seq - 1);
    const after = this.#labelsAt(session, seq);
    return hasAll(before, limit.labels) || hasAll(after, limit.labels);
  }

  /** Null when there is no such bot. */
  #labelsAt(session: string, seq: number): Labels | null {
    return this.#labels.get(session)?.findLast((change) => change.seq <= seq)?.labels ?? null;
  }

  /** All snapshots as of just before frame `next` that pass, as `id status` lines. */
  #snapshotsAt(next: number, { query, limit }: Pick<Opened, 'query' | 'limit'>): string[] {
    const statuses = new Map<string, string>();
    for (const item of this.items.slice(0, next - FIRST)) {
      if (item.kind !== 'session') continue;
      const status = item.patch.status ?? statuses.get(item.id) ?? 'stopped';
      if (status === 'deleted') statuses.delete(item.id);
      else statuses.set(item.id, status);
    }
    const within = (id: string): boolean =>
      limit === null ||
      ('bots' in limit
        ? limit.bots.includes(id)
        : hasAll(this.#labelsAt(id, next - 1), limit.labels));
    const wanted = (id: string): boolean =>
      within(id) &&
      query.every(
        ([key, text]) =>
          (key === 'session' && text.split(',').includes(id)) ||
          (key === 'event' && text.split(',').includes('session')),
      );
    return [...statuses].filter(([id]) => wanted(id)).map(([id, status]) => `${id} ${status}`);
  }

  /**
   * Reads all that a stream received as a client does, and checks that each matching frame came exactly once and in
   * order, or lies in a gap that says exactly what is missing. Returns the gaps and where the stream stands.
   */
  check(stream: Opened): { gaps: number; at: number } {
    const { socket, query, limit, from, lost, snapshots, mayWait } = stream;
    expect(socket.faults).toEqual([]);
    expect(socket.removals).toBe(socket.ended || socket.closed ? 1 : 0);
    let at = from;
    if (mayWait) {
      // After the snapshots without an id, and heartbeats.
      const position = new RegExp(
        `^retry: \\d+\n(?::\n+|event: session\ndata: .*\n\n)*(?:: position|id:) ${EPOCH}-(\\d+)\n`,
      ).exec(socket.text);
      // It went before it began.
      if (!position && (socket.closed || socket.blocked)) return { gaps: 0, at };
      expect(position, socket.text).not.toBeNull();
      at = Number(position?.[1]) + 1;
      expect(at).toBeGreaterThanOrEqual(from);
    }
    let gaps = 0;
    let pendingSnapshots = snapshots ? 'first' : 'none';
    let shown: string[] = [];
    const skipTo = (seq: number): void => {
      for (; at < seq; at++) {
        if (this.passes(stream, at)) throw new Error(`frame ${at} of ${this.head} is missing`);
      }
    };
    /** Snapshots come as one block: after the beginning or a gap, before anything else. */
    const endOfSnapshots = (): void => {
      if (pendingSnapshots === 'none') return;
      expect(shown).toEqual(this.#snapshotsAt(at, stream));
      pendingSnapshots = 'none';
      shown = [];
    };
    const parser = createParser({
      onError: (error) => expect.unreachable(error.message),
      onEvent: ({ id, event, data }) => {
        // Without a gap, the last one has the position as its id.
        const isLast = pendingSnapshots === 'first' && id === eventId(EPOCH, at - 1);
        if (event === 'session' && (id === undefined || isLast)) {
          expect(pendingSnapshots).not.toBe('none');
          const { snapshot } = JSON.parse(data) as { snapshot: BotSnapshot };
          shown.push(`${snapshot.id} ${snapshot.status}`);
          return;
        }
        endOfSnapshots();
        if (event === 'gap') {
          gaps += 1;
          const gap = JSON.parse(data) as { from: string; to: string; dropped: number | null };
          expect(id).toBe(gap.to);
          const to = Number(gap.to.slice(EPOCH.length + 1));
          expect(gap.to).toBe(eventId(EPOCH, to));
          if (lost !== undefined && gaps === 1) {
            expect(gap.from).toBe(lost);
            expect(gap.dropped).toBeNull();
            // What the client has of another numbering says nothing of this one.
            at = to + 1;
          } else {
            const first = Number(gap.from.slice(EPOCH.length + 1));
            expect(gap.from).toBe(eventId(EPOCH, first));
            expect(first).toBeGreaterThanOrEqual(at);
            skipTo(first);
            expect(to).toBeGreaterThanOrEqual(first);
            expect(to).toBeLessThan(this.head);
            expect(gap.dropped).toBe(query.length === 0 && limit === null ? to - first + 1 : null);
          }
          at = to + 1;
          pendingSnapshots = 'after gap';
          return;
        }
        const seq = Number(id?.slice(EPOCH.length + 1));
        expect(id).toBe(eventId(EPOCH, seq));
        if (seq < at) throw new Error(`frame ${seq} came again or out of order`);
        skipTo(seq);
        if (!this.passes(stream, seq)) throw new Error(`frame ${seq} does not match`);
        const item = this.items[seq - FIRST] as Item;
        expect(event).toBe(item.kind);
        const json = JSON.parse(data) as { message?: string; snapshot?: BotSnapshot };
        if (item.kind === 'log') expect(JSON.stringify(json.message)).toBe(item.message_json);
        else expect(json.snapshot?.id).toBe(item.id);
        at = seq + 1;
      },
    });
    parser.feed(socket.text);
    // What a stream still has to come is for the caller to judge; one at the head has had its snapshots.
    if (!socket.closed && !socket.blocked) endOfSnapshots();
    return { gaps, at };
  }

  /** For streams that are not blocked: they have had everything. */
  checkAll(): number {
    let gaps = 0;
    for (const stream of this.streams) {
      const { at, gaps: declared } = this.check(stream);
      gaps += declared;
      if (stream.socket.closed || stream.socket.blocked) continue;
      for (let seq = at; seq < this.head; seq++) {
        if (this.passes(stream, seq))
          throw new Error(`frame ${seq} of ${this.head} is missing at the end`);
      }
    }
    return gaps;
  }

  /** Closes every socket and stops all timers, in any state. */
  abandon(): void {
    for (const stream of this.streams) this.drop(stream);
    this.fanout.stop();
  }
}

function hasAll(labels: Labels | null, wanted: Labels): boolean {
  return labels !== null && Object.entries(wanted).every(([name, value]) => labels[name] === value);
}
