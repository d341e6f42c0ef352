// Runs in the broadcaster thread. Owns the writing end of the frame ring and the latest snapshot of every bot.

import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../shared/contract/event-kinds.js';
import {
  type ActivityEvent,
  type AlertItem,
  type BotSnapshot,
  hasLeft,
  type LogItem,
  type MainItem,
  type OperationItem,
} from '../shared/contract/events.js';
import { messageJson } from '../shared/contract/line-text.js';
import { BROADCASTER_CELLS } from '../shared/contract/metric-layout.js';
import { type NameHash, NameHasher } from '../shared/contract/name-hash.js';
import { SERVICE_SCOPE } from '../shared/contract/scopes.js';
import type { LastLine, StreamIdentity } from '../shared/contract/threads.js';
import { messageOf } from '../shared/errors.js';
import { Counters } from '../shared/memory/counters.js';
import type { FrameMeta } from '../shared/memory/layout.js';
import { RingWriter } from '../shared/memory/ring-writer.js';
import {
  eventId,
  frameData,
  gapJson,
  KIND_CODE,
  LEVEL_CODE,
  logJson,
  NO_LEVEL,
  sessionJson,
  sseFrame,
} from '../shared/stream/frame.js';
import { LastLines } from './last-lines.js';
import { SnapshotStore } from './snapshots.js';

const NO_META: FrameMeta = {
  kind: 0,
  level: 0,
  sessionLow: 0,
  sessionHigh: 0,
  scopeLow: 0,
  scopeHigh: 0,
  node: 0,
};
const NO_NAME = { low: 0, high: 0, json: 'null' };

/** Turns items into frames: assigns the sequence number, serializes once, writes to the ring, wakes the fronts. */
export class Broadcaster {
  readonly #writer: RingWriter;
  readonly #epoch: string;
  /** Two hashers, because each caches its last name. */
  readonly #scopes: NameHasher;
  readonly #sessions: NameHasher;
  readonly #snapshots = new SnapshotStore();
  readonly #lastLines: LastLines;
  readonly #wake: (front: number) => void;
  /** One object for all frames: the writer copies its fields. */
  readonly #meta: FrameMeta = { ...NO_META };
  readonly #counters: Counters;

  /**
   * @param wake wakes a front that sleeps. @param counters where metrics are counted; without it nobody reads them.
   */
  constructor(
    stream: StreamIdentity,
    wake: (front: number) => void,
    counters: Counters = Counters.alone(BROADCASTER_CELLS.size),
  ) {
    this.#counters = counters;
    this.#writer = new RingWriter(stream.ring, (to) => this.#lastLines.save(to));
    this.#lastLines = new LastLines(this.#writer);
    this.#epoch = stream.epoch;
    this.#scopes = new NameHasher(stream.hashKey);
    this.#sessions = new NameHasher(stream.hashKey);
    this.#wake = wake;
  }

  /** Publishes items in their order. @returns the sequence number after the last. */
  publish(items: readonly MainItem[]): number {
    for (const item of items) {
      try {
        if (item.kind === 'log') this.#log(item);
        else if (item.kind === 'session') this.#session(item.id, item.patch);
        else if (item.kind === 'activity') this.#activity(item.event);
        else this.#ofNoBot(item);
      } catch (thrown) {
        // Writers bound their items to the size of a frame; one that is too large must not lose the others.
        this.#refused(messageOf(thrown));
      }
    }
    for (const front of this.#writer.publish()) this.#wake(front);
    this.#countWaits();
    return this.#writer.next;
  }

  /**
   * Takes over from a broadcaster that died: reports the events that were in flight as lost, with a `gap` event of unknown
   * size, and publishes the current snapshots.
   */
  restore(snapshots: readonly BotSnapshot[]): void {
    this.#lookBack(snapshots);
    const id = eventId(this.#epoch, this.#writer.next);
    Object.assign(this.#meta, NO_META, { kind: KIND_CODE.gap, level: NO_LEVEL });
    this.#append('gap', gapJson(id, id, null));
    // Changes of state may be lost too, so every stream gets the present state of every bot.
    this.publish(snapshots.map(({ id, ...patch }) => ({ kind: 'session', id, patch })));
  }

  /** Finds the last lines of these bots on the ring, in one pass over its index. */
  #lookBack(bots: readonly BotSnapshot[]): void {
    const known = new Map<number, { id: string; name: NameHash }>();
    for (const { id } of bots) {
      const name = this.#sessions.of(id);
      known.set(lookBackKey(name.low, name.high), { id, name });
      this.#lastLines.add(id);
    }
    for (let seq = this.#writer.oldest; seq < this.#writer.next; seq++) {
      const { kind, sessionLow, sessionHigh } = this.#writer.about(seq);
      const found = known.get(lookBackKey(sessionLow, sessionHigh));
      if (found?.name.high !== sessionHigh) continue;
      if (kind === KIND_CODE.log) this.#lastLines.note(found.id, found.name, seq);
      else if (kind === KIND_CODE.session && endsSession(this.#writer.text(seq))) {
        // The lines before belong to another bot with the same id.
        this.#lastLines.remove(found.id);
        this.#lastLines.add(found.id);
      }
    }
  }

  /** The `session` event of every bot as JSON, as of just before frame `next`. */
  baseline(): { next: number; sessions: string[] } {
    return { next: this.#writer.next, sessions: this.#snapshots.all().map(sessionJson) };
  }

  /** A bot as its last `session` event shows it; null when there is none. */
  snapshot(bot: string): Readonly<BotSnapshot> | null {
    return this.#snapshots.get(bot) ?? null;
  }

  /** The last lines of these bots, as far back as this broadcaster, or the ring at its start, reaches. */
  lastLines(bots: readonly string[]): LastLine[] {
    return this.#lastLines.of(bots);
  }

  #log(event: LogItem): void {
    const scope = this.#scopes.of(event.scope);
    const session = event.session_id === null ? NO_NAME : this.#sessions.of(event.session_id);
    const meta = this.#meta;
    meta.kind = KIND_CODE.log;
    meta.level = LEVEL_CODE[event.level];
    meta.sessionLow = session.low;
    meta.sessionHigh = session.high;
    meta.scopeLow = scope.low;
    meta.scopeHigh = scope.high;
    const seq = this.#writer.next;
    this.#append('log', logJson(event, scope.json, session.json));
    if (event.session_id !== null) this.#lastLines.note(event.session_id, session, seq);
    this.#counters.add(BROADCASTER_CELLS.levels + meta.level, 1);
  }

  #refused(reason: string): void {
    this.#log({
      kind: 'log',
      timestamp_ms: Date.now(),
      level: 'error',
      scope: SERVICE_SCOPE,
      session_id: null,
      transport: null,
      direction: null,
      message_json: messageJson(`an event was refused: ${reason}`),
    });
  }

  #session(id: string, patch: Parameters<SnapshotStore['merge']>[1]): void {
    const before = this.#snapshots.get(id)?.labels;
    const snapshot = this.#snapshots.merge(id, patch);
    // After a change of labels the bot may belong to another team, which must not see its earlier lines.
    const isSame = before === undefined || isDeepStrictEqual(before, snapshot.labels);
    const isGone = hasLeft(snapshot.status);
    if (isGone || !isSame) this.#lastLines.remove(id);
    if (!isGone) this.#lastLines.add(id);
    const name = this.#sessions.of(id);
    const meta = this.#meta;
    meta.kind = KIND_CODE.session;
    meta.level = NO_LEVEL;
    meta.sessionLow = name.low;
    meta.sessionHigh = name.high;
    meta.scopeLow = 0;
    meta.scopeHigh = 0;
    this.#append('session', sessionJson(snapshot));
  }

  #activity(event: ActivityEvent): void {
    const { session_id: id } = event;
    const { low, high } = id === null ? NO_NAME : this.#sessions.of(id);
    const about = { kind: KIND_CODE.activity, level: NO_LEVEL, sessionLow: low, sessionHigh: high };
    Object.assign(this.#meta, NO_META, about);
    this.#append('activity', JSON.stringify(event));
  }

  /** Only streams without a limit to some bots get it. */
  #ofNoBot({ kind, event }: AlertItem | OperationItem): void {
    Object.assign(this.#meta, NO_META, { kind: KIND_CODE[kind], level: NO_LEVEL });
    this.#append(kind, JSON.stringify(event));
  }

  #countWaits(): void {
    const { waits } = this.#writer;
    if (waits === 0) return;
    this.#counters.add(BROADCASTER_CELLS.waits, waits);
    this.#writer.waits = 0;
  }

  #append(kind: Kind, json: string): void {
    const id = eventId(this.#epoch, this.#writer.next);
    this.#writer.append(sseFrame(id, kind, json), this.#meta);
    this.#counters.add(BROADCASTER_CELLS.kinds + this.#meta.kind, 1);
  }
}

/** 53 of the 64 bits of a name's hash: what a number can hold. */
function lookBackKey(low: number, high: number): number {
  return low * 2 ** 21 + (high >>> 11);
}

/** Whether the frame of a session event says that its bot has left. */
function endsSession(frame: string): boolean {
  // A cheap test first; the text may also be in the bot's data.
  if (!frame.includes('"status":"deleted"') && !frame.includes('"status":"moved"')) return false;
  const event = JSON.parse(frameData(frame)) as { snapshot: BotSnapshot };
  return hasLeft(event.snapshot.status);
}
