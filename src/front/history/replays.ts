// Runs in a front thread. Owns the streams that are still in the past: what they get comes from the journal until they have
// come up to the ring, and the fan-out takes them over there.
//
// Each has a cursor, never a queue. They take turns of one write each, so that all come forward alike; a turn of all
// together lasts 1 ms at most, between which the live streams and requests run. What is read for one is there for all that
// stand at the same place: after a restart they come in crowds.

import type { ReplayPart, ReplayRequest } from '../../shared/contract/journal-messages.js';
import type { Filter } from '../../shared/stream/filter.js';
import type { Subscriber } from '../subscriber.js';
import { ReplayParts } from './replay-parts.js';

/** Longest that the front stays with the past in one turn of its loop, in ms. */
const TURN_MS = 1;
/** Rest after a turn while there are live streams too, in ms: the journal, the clients and they need the time. */
const REST_MS = 1;
/** Bytes that the journal is asked for at once. */
const PART_BYTES = 256 * 1024;
/** Parts that may be on their way from the journal, or there and not looked at yet by anybody. */
const MAX_ASKED = 16;
/** Pause before a journal is asked again that could not answer, in ms. */
const RETRY_MS = 250;
/**
 * How long a stream keeps its place while the journal cannot answer, in ms; and how long the journal may fail all that ask
 * before nobody waits for it any more.
 */
const GIVE_UP_MS = 60_000;

export interface ReplaySource {
  /** There is a journal in this service, whether it can be asked just now or not. */
  readonly isThere: boolean;
  /** Rejects when it cannot say now what it has: that is not to say that it has nothing. */
  replay(request: ReplayRequest): Promise<ReplayPart>;
}

/** What becomes of a stream in the fan-out. */
export interface ReplayActions {
  /** Sends bytes; the stream may be blocked or gone after this. */
  write(subscriber: Subscriber, bytes: Uint8Array): void;
  /** Frames before `next` are not there any more, or never were: they are to be declared, and it goes on from there. */
  missing(subscriber: Subscriber, next: number): void;
  /** The journal has nothing for it: it goes on where the fan-out says. */
  lost(subscriber: Subscriber): void;
  /** Its cursor is on the ring. */
  arrived(subscriber: Subscriber): void;
  /** Whether there are streams that are live. */
  hasLive(): boolean;
  /** Whether a cursor here is far enough on the ring to go on there. */
  isOnRing(cursor: number, filter: Filter | null): boolean;
}

/** Where a stream stands in what was read for it. */
interface Place {
  subscriber: Subscriber;
  key: string | undefined;
  piece: number;
  isQueued: boolean;
  /** For what the journal is asked for. */
  isWaiting: boolean;
  /** Since when it has asked in vain, by performance.now(); 0 when it has not. */
  failingSince: number;
}

export class Replays {
  readonly #source: ReplaySource;
  readonly #actions: ReplayActions;
  readonly #pieceBytes: number;
  readonly #places = new Map<Subscriber, Place>();
  /** Those that can go on now, in the order of their turns. */
  #ready: Place[] = [];
  readonly #parts = new ReplayParts();
  /** Who waits for a part that is on its way. */
  readonly #asked = new Map<string, Place[]>();
  /** Who waits until one more may be asked for. */
  readonly #postponed = new Set<Place>();
  #turning = false;
  /** Runs while the journal is left alone, because it could not answer. */
  #pause: NodeJS.Timeout | undefined;
  /** When the journal first failed without an answer since, and last, by performance.now(). */
  #failing: { since: number; last: number } | undefined;

  constructor(source: ReplaySource, pieceBytes: number, actions: ReplayActions) {
    this.#source = source;
    this.#pieceBytes = pieceBytes;
    this.#actions = actions;
  }

  /** There is a journal that may have what the ring has not. */
  get isThere(): boolean {
    return this.#source.isThere;
  }

  /** How many streams are in the past. */
  get size(): number {
    return this.#places.size;
  }

  has(subscriber: Subscriber): boolean {
    return this.#places.has(subscriber);
  }

  /** Takes a stream, whose cursor says where it goes on. */
  add(subscriber: Subscriber): void {
    const place: Place = {
      subscriber,
      key: undefined,
      piece: 0,
      isQueued: false,
      isWaiting: false,
      failingSince: 0,
    };
    this.#places.set(subscriber, place);
    this.#queue(place);
  }

  /** The stream is gone, or the fan-out has it. */
  remove(subscriber: Subscriber): void {
    const place = this.#places.get(subscriber);
    if (!place) return;
    this.#places.delete(subscriber);
    // Clients come and go while the journal does not answer.
    this.#postponed.delete(place);
    if (this.#places.size === 0) this.#parts.clear();
  }

  /** It takes bytes again, or its prelude is over. */
  resume(subscriber: Subscriber): void {
    const place = this.#places.get(subscriber);
    if (place) this.#queue(place);
  }

  #queue(place: Place): void {
    if (place.isQueued || place.isWaiting) return;
    place.isQueued = true;
    this.#ready.push(place);
    this.#turnSoon();
  }

  #turnSoon(hasWorked = false): void {
    if (this.#turning || this.#ready.length === 0) return;
    this.#turning = true;
    if (hasWorked && this.#actions.hasLive()) setTimeout(() => this.#turn(), REST_MS);
    else setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#turning = false;
    const end = performance.now() + TURN_MS;
    // A round of all, and another, until the time is over; who is not through stands at the head of the next turn.
    while (this.#ready.length > 0) {
      const round = this.#ready;
      this.#ready = [];
      for (const [at, place] of round.entries()) {
        place.isQueued = false;
        this.#serve(place);
        if (performance.now() >= end) {
          this.#ready = [...round.slice(at + 1), ...this.#ready];
          this.#turnSoon(true);
          return;
        }
      }
    }
  }

  /** One turn of one stream: at most one write. */
  #serve(place: Place): void {
    const { subscriber } = place;
    if (place.key !== undefined && this.#parts.see(place.key)) this.#askPostponed();
    if (!this.#isHere(place) || subscriber.blockedAt !== 0) return;
    // The fan-out has it resumed when it has had what comes before.
    if (!subscriber.isLive) return;
    if (this.#actions.isOnRing(subscriber.cursor, subscriber.group.filter)) {
      this.remove(subscriber);
      this.#actions.arrived(subscriber);
      return;
    }
    const part = place.key === undefined ? undefined : this.#parts.get(place.key);
    const piece = part?.pieces[place.piece];
    const before = part?.pieces[place.piece - 1];
    // One that was let go of and read again may be cut into other pieces.
    if (!part || !piece || (before ? before.next : part.first) !== subscriber.cursor) {
      this.#ask(place);
      return;
    }
    const from = before?.end ?? 0;
    place.piece += 1;
    subscriber.cursor = piece.next;
    if (piece.end > from) this.#actions.write(subscriber, part.bytes.subarray(from, piece.end));
    if (subscriber.index !== -1 && subscriber.blockedAt === 0) this.#queue(place);
  }

  #ask(place: Place): void {
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
    else this.#request(key, subscriber.cursor, filter?.key ?? null, [place]);
  }

  #request(key: string, from: number, filter: string | null, waiting: Place[]): void {
    this.#asked.set(key, waiting);
    const request: ReplayRequest = {
      from,
      filter,
      pieceBytes: this.#pieceBytes,
      maxBytes: PART_BYTES,
      // Of what a filter lets through a part may be small.
      memory: filter === null ? this.#parts.takeMemory() : undefined,
    };
    this.#source.replay(request).then(
      (answer) => this.#answered(key, answer),
      () => this.#refused(key),
    );
  }

  #answered(key: string, part: ReplayPart): void {
    const waiting = this.#waitingFor(key);
    this.#failing = undefined;
    // One that has nothing is asked for again: by then there may be more.
    if (part.first !== null && this.#places.size > 0) this.#parts.keep(key, part);
    for (const place of waiting) {
      place.failingSince = 0;
      this.#take(place, key, part);
    }
    this.#askPostponed();
  }

  /** The journal does not answer now: who waits keeps its place, and asks again a little later. */
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
    // It is asked for all that wait, without a pause: an answer for one of them is hope for the others.
    if (isHopeless) this.#askPostponed();
    else this.#pause ??= setTimeout(() => this.#endPause(), RETRY_MS);
  }

  #endPause(): void {
    this.#pause = undefined;
    this.#askPostponed();
  }

  /** Takes those out who waited for this and are still here. */
  #waitingFor(key: string): Place[] {
    const waiting = this.#asked.get(key) ?? [];
    this.#asked.delete(key);
    for (const place of waiting) place.isWaiting = false;
    return waiting.filter((place) => this.#isHere(place));
  }

  #isHere(place: Place): boolean {
    return this.#places.get(place.subscriber) === place;
  }

  #postpone(place: Place): void {
    place.isWaiting = true;
    this.#postponed.add(place);
  }

  /** Whether as much is on its way, or there and not looked at yet, as may be; or nothing may be asked for now. */
  get #isFull(): boolean {
    return this.#pause !== undefined || this.#asked.size + this.#parts.unseen >= MAX_ASKED;
  }

  #askPostponed(): void {
    // Whoever finds its part here, or on its way, needs no room: the next has it.
    for (const place of this.#postponed) {
      if (this.#isFull) return;
      this.#postponed.delete(place);
      place.isWaiting = false;
      this.#ask(place);
    }
  }

  #take(place: Place, key: string, part: ReplayPart): void {
    const { subscriber } = place;
    const { first } = part;
    if (first === null) {
      this.#lost(place);
    } else if (first > subscriber.cursor) {
      // What is missing begins where this stream stands, whatever the journal says of where it begins.
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

  /** What comes after this part is read while this one is sent. */
  #askAhead({ group: { filter } }: Subscriber, next: number): void {
    if (this.#pause || this.#asked.size + this.#parts.unseen >= MAX_ASKED / 2) return;
    if (this.#actions.isOnRing(next, filter)) return;
    const key = `${next} ${filter?.key ?? ''}`;
    if (!this.#parts.has(key) && !this.#asked.has(key)) {
      this.#request(key, next, filter?.key ?? null, []);
    }
  }

  #lost({ subscriber }: Place): void {
    this.remove(subscriber);
    this.#actions.lost(subscriber);
  }
}
