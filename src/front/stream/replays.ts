// Runs in a front thread. Owns the streams that are replaying: their frames come from the journal until they reach the ring,
// where the fan-out continues.
//
// Each has a cursor, never a queue. They are served round-robin, one write each, as large as the fan-out's writes to that
// stream. Live streams and requests run between two turns; replay-pace.ts says how long a turn is, and the rest after it. A
// part that is read for one stream serves all at the same position: after a restart many resume at once.

import type { ReplayPart, ReplayRequest } from '../../shared/contract/journal-messages.js';
import type { Filter } from '../../shared/stream/filter.js';
import { ReplayPace, type StreamCounts } from './replay-pace.js';
import { ReplayParts } from './replay-parts.js';
import { LIVE, REPLAYING, type Subscriber } from './subscriber.js';

/** Bytes per request to the journal. */
const PART_BYTES = 256 * 1024;
/** Parts that are requested, or received and not looked at by any stream yet. */
const MAX_ASKED = 16;
/** Pause after a failed request, in ms. */
const RETRY_MS = 250;
/**
 * How long a stream waits while the journal fails, in ms; and how long the journal may fail all streams before none waits
 * any longer.
 */
const GIVE_UP_MS = 60_000;

export interface ReplaySource {
  /** Whether the service has a journal, available at the moment or not. */
  readonly isThere: boolean;
  /** Rejects if the journal is unavailable, which does not mean that it has nothing. */
  replay(request: ReplayRequest): Promise<ReplayPart>;
}

export interface ReplayActions {
  /** Sends bytes; the stream may be blocked or gone after this. */
  write(subscriber: Subscriber, bytes: Uint8Array): void;
  /** Frames before `next` are lost: declare a gap and continue there. */
  missing(subscriber: Subscriber, next: number): void;
  /** Called when the journal has nothing for the stream: the fan-out decides where it continues. */
  lost(subscriber: Subscriber): void;
  /** Called when the stream's cursor is on the ring. */
  arrived(subscriber: Subscriber): void;
  /** How many streams are on the ring. */
  live(): number;
  /** The most bytes for the stream's next write. */
  writeBytes(subscriber: Subscriber): number;
  /** Whether the stream can continue on the ring at this cursor. */
  isOnRing(cursor: number, filter: Filter | null): boolean;
}

/** A stream's position in a part. */
interface ReplayEntry {
  subscriber: Subscriber;
  key: string | undefined;
  piece: number;
  isQueued: boolean;
  /** Waits for a part. */
  isWaiting: boolean;
  /** Since when its requests fail, by performance.now(); 0 if they do not. */
  failingSince: number;
}

export class Replays {
  readonly #source: ReplaySource;
  readonly #actions: ReplayActions;
  readonly #pieceBytes: number;
  readonly #places = new Map<Subscriber, ReplayEntry>();
  /** Streams that can continue now, in order. */
  #ready: ReplayEntry[] = [];
  readonly #parts = new ReplayParts();
  readonly #pace = new ReplayPace();
  /** Streams by the part that is requested for them. */
  readonly #asked = new Map<string, ReplayEntry[]>();
  /** Streams that wait until another part may be requested. */
  readonly #postponed = new Set<ReplayEntry>();
  #turning = false;
  /** Timer of the pause after a failed request. */
  #pause: NodeJS.Timeout | undefined;
  /** First and last failure without a success in between, by performance.now(). */
  #failing: { since: number; last: number } | undefined;

  constructor(source: ReplaySource, pieceBytes: number, actions: ReplayActions) {
    this.#source = source;
    this.#pieceBytes = pieceBytes;
    this.#actions = actions;
  }

  get isThere(): boolean {
    return this.#source.isThere;
  }

  get size(): number {
    return this.#places.size;
  }

  has(subscriber: Subscriber): boolean {
    return this.#places.has(subscriber);
  }

  /** Adds a stream, which continues at its cursor. */
  add(subscriber: Subscriber): void {
    const place: ReplayEntry = {
      subscriber,
      key: undefined,
      piece: 0,
      isQueued: false,
      isWaiting: false,
      failingSince: 0,
    };
    this.#places.set(subscriber, place);
    // Otherwise its initial state comes first.
    if (subscriber.state === LIVE) subscriber.state = REPLAYING;
    this.#queue(place);
  }

  /** The stream was closed. */
  remove(subscriber: Subscriber): void {
    const place = this.#places.get(subscriber);
    if (!place) return;
    this.#places.delete(subscriber);
    // Otherwise streams would pile up here while the journal fails.
    this.#postponed.delete(place);
    if (this.#places.size === 0) this.#parts.clear();
  }

  /** The stream continues on the ring. */
  #release(subscriber: Subscriber): void {
    this.remove(subscriber);
    if (subscriber.state === REPLAYING) subscriber.state = LIVE;
  }

  /** The stream accepts bytes again, or its initial state is sent. */
  resume(subscriber: Subscriber): void {
    const place = this.#places.get(subscriber);
    if (place) this.#queue(place);
  }

  #queue(place: ReplayEntry): void {
    if (place.isQueued || place.isWaiting) return;
    place.isQueued = true;
    this.#ready.push(place);
    this.#turnSoon();
  }

  #turnSoon(): void {
    if (this.#turning || this.#ready.length === 0) return;
    this.#turning = true;
    const restMs = this.#pace.wait(performance.now());
    if (restMs > 0) setTimeout(() => this.#turn(), restMs);
    else setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#pace.begin(performance.now(), this.#counts);
    this.#rounds();
    this.#pace.end(performance.now(), this.#counts);
    this.#turning = false;
    this.#turnSoon();
  }

  get #counts(): StreamCounts {
    return { live: this.#actions.live(), replaying: this.size };
  }

  /** Rounds until the turn is over. Streams that were not served come first next time. */
  #rounds(): void {
    while (this.#ready.length > 0) {
      const round = this.#ready;
      this.#ready = [];
      for (const [at, place] of round.entries()) {
        place.isQueued = false;
        this.#serve(place);
        if (this.#pace.isOver(performance.now())) {
          this.#ready = [...round.slice(at + 1), ...this.#ready];
          return;
        }
      }
    }
  }

  /** Serves one stream: at most one write. */
  #serve(place: ReplayEntry): void {
    const { subscriber } = place;
    if (place.key !== undefined && this.#parts.see(place.key)) this.#askPostponed();
    if (!this.#isHere(place) || subscriber.blockedAt !== 0) return;
    // The fan-out calls resume() after the initial state.
    if (subscriber.state !== REPLAYING) return;
    if (this.#actions.isOnRing(subscriber.cursor, subscriber.group.filter)) {
      this.#release(subscriber);
      this.#actions.arrived(subscriber);
      return;
    }
    const part = place.key === undefined ? undefined : this.#parts.get(place.key);
    const piece = part?.pieces[place.piece];
    const before = part?.pieces[place.piece - 1];
    // A part that was evicted and read again may have other pieces.
    if (!part || !piece || (before ? before.next : part.first) !== subscriber.cursor) {
      this.#ask(place);
      return;
    }
    const from = before?.end ?? 0;
    const { end, next } = this.#together(place, part, from + this.#actions.writeBytes(subscriber));
    subscriber.cursor = next;
    if (end > from) {
      this.#pace.wrote(end - from);
      this.#actions.write(subscriber, this.#parts.view(part, from, end));
    }
    if (!subscriber.hasLeft && subscriber.blockedAt === 0) this.#queue(place);
  }

  /** Moves the place over its next piece and those that fit below `limit`, an offset in the part. @returns the last of these. */
  #together(
    place: ReplayEntry,
    { pieces }: ReplayPart,
    limit: number,
  ): ReplayPart['pieces'][number] {
    place.piece += 1;
    while ((pieces[place.piece]?.end ?? Number.POSITIVE_INFINITY) <= limit) place.piece += 1;
    return pieces[place.piece - 1] as ReplayPart['pieces'][number];
  }

  #ask(place: ReplayEntry): void {
    const { subscriber } = place;
    const { filter } = subscriber.group;
    const key = `${subscriber.cursor} ${filter?.key ?? ''}`;
    const part = this.#parts.take(key);
    if (part) {
      this.#take(place, key, part);
      return;
    }
    const waiting = this.#asked.get(key);
    if (!waiting && this.#isFull) {
      this.#postpone(place);
      return;
    }
    place.isWaiting = true;
    if (waiting) waiting.push(place);
    else this.#request(key, subscriber.cursor, filter, [place]);
  }

  #request(key: string, from: number, filter: Filter | null, waiting: ReplayEntry[]): void {
    this.#asked.set(key, waiting);
    const past = filter?.pastKey ?? null;
    if (!(past instanceof Promise)) {
      this.#send(key, from, past);
      return;
    }
    past.then(
      (name) => this.#send(key, from, name),
      () => this.#refused(key),
    );
  }

  #send(key: string, from: number, filter: string | null): void {
    const request: ReplayRequest = {
      from,
      filter,
      pieceBytes: this.#pieceBytes,
      maxBytes: PART_BYTES,
      // A filtered part may be small.
      memory: filter === null ? this.#parts.takeMemory() : undefined,
    };
    this.#source.replay(request).then(
      (answer) => {
        // A part for a filter may be small, and yet the journal has read much for it.
        if (filter !== null) this.#pace.searched(answer.readMs, answer.bytes.length);
        this.#answered(key, answer);
      },
      () => this.#refused(key),
    );
  }

  #answered(key: string, part: ReplayPart): void {
    const waiting = this.#waitingFor(key);
    this.#failing = undefined;
    // An empty part is not kept: later there may be more.
    if (part.first !== null && this.#places.size > 0) this.#parts.keep(key, part);
    for (const place of waiting) {
      place.failingSince = 0;
      this.#take(place, key, part);
    }
    this.#askPostponed();
  }

  /** The request failed: the streams that wait keep their position, and try again later. */
  #refused(key: string): void {
    const now = performance.now();
    const isNew = !this.#failing || now - this.#failing.last >= GIVE_UP_MS;
    this.#failing = { since: isNew || !this.#failing ? now : this.#failing.since, last: now };
    const isHopeless = now - this.#failing.since >= GIVE_UP_MS;
    for (const place of this.#waitingFor(key)) {
      place.failingSince ||= now;
      if (isHopeless || now - place.failingSince >= GIVE_UP_MS) this.#lost(place);
      else this.#postpone(place);
    }
    // The journal counts as down, but every stream still tries once, without a pause.
    if (isHopeless) this.#askPostponed();
    else this.#pause ??= setTimeout(() => this.#endPause(), RETRY_MS);
  }

  #endPause(): void {
    this.#pause = undefined;
    this.#askPostponed();
  }

  /** Removes and returns the streams that wait for this part and are still open. */
  #waitingFor(key: string): ReplayEntry[] {
    const waiting = this.#asked.get(key) ?? [];
    this.#asked.delete(key);
    for (const place of waiting) place.isWaiting = false;
    return waiting.filter((place) => this.#isHere(place));
  }

  #isHere(place: ReplayEntry): boolean {
    return this.#places.get(place.subscriber) === place;
  }

  #postpone(place: ReplayEntry): void {
    place.isWaiting = true;
    this.#postponed.add(place);
  }

  /** Whether the limit of parts is reached, or requests are paused. */
  get #isFull(): boolean {
    return this.#pause !== undefined || this.#asked.size + this.#parts.unseen >= MAX_ASKED;
  }

  #askPostponed(): void {
    // A stream whose part is here or requested needs no room, so the next one is tried too.
    for (const place of this.#postponed) {
      if (this.#isFull) return;
      this.#postponed.delete(place);
      place.isWaiting = false;
      this.#ask(place);
    }
  }

  #take(place: ReplayEntry, key: string, part: ReplayPart): void {
    const { subscriber } = place;
    const { first } = part;
    if (first === null) {
      this.#lost(place);
    } else if (first > subscriber.cursor) {
      // The gap begins at the stream's cursor, regardless of where the journal says that it begins.
      place.key = undefined;
      this.#actions.missing(subscriber, part.firstIsGap ? first + 1 : first);
    } else {
      place.key = key;
      place.piece = 0;
      this.#queue(place);
      this.#parts.expect(key);
      this.#askAhead(subscriber, part.next);
    }
  }

  /** Requests the next part while this one is sent. */
  #askAhead({ group: { filter } }: Subscriber, next: number): void {
    if (this.#pause || this.#asked.size + this.#parts.unseen >= MAX_ASKED / 2) return;
    if (this.#actions.isOnRing(next, filter)) return;
    const key = `${next} ${filter?.key ?? ''}`;
    if (!this.#parts.has(key) && !this.#asked.has(key)) {
      this.#request(key, next, filter, []);
    }
  }

  #lost({ subscriber }: ReplayEntry): void {
    this.#release(subscriber);
    this.#actions.lost(subscriber);
  }
}
